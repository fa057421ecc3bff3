-- One payment: a random customer pays one of the merchants :first to :last, with a key that no other payment has.
-- The client's own number of the payment, n, begins at 0 (-D n=0); :run tells the runs of pgbench apart.
\set n :n + 1
\set customer random(1, :customers)
\set merchant random(:first, :last)
\set amount random(100, 2000)
SELECT status, body, replayed FROM pay(1, :customer, :merchant, :amount,
  format('01a2087d-%s-7000-%s-%s', lpad(to_hex(:run::bigint), 4, '0'), lpad(to_hex(:client_id::bigint), 4, '0'),
    lpad(to_hex(:n::bigint), 12, '0')),
  sha256(format('pay|%s|%s|%s', :customer::text, :merchant::text, :amount::text)::bytea));
