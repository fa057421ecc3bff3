-- The worker's loop: credits merchants in batches, and waits only if a batch was not full.
SELECT credit_merchants(1000) AS credited \gset
\if :credited < 1000
\sleep 20 ms
\endif
