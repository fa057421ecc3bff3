-- Checks the books. Each row: a check, and the number of rows that contradict it. :payments is how many payments
-- succeeded by the count of pgbench.

SELECT 'postings of each transaction sum to zero per asset', count(*) FROM (
  SELECT FROM postings GROUP BY transaction_id, asset HAVING sum(delta) <> 0) broken;

SELECT 'all postings sum to zero per asset', count(*) FROM (
  SELECT FROM postings GROUP BY asset HAVING sum(delta) <> 0) broken;

SELECT 'each transaction has postings', count(*) FROM transactions t
  WHERE NOT EXISTS (SELECT FROM postings p WHERE p.transaction_id = t.id);

SELECT 'each posting has the asset of its account', count(*)
  FROM postings p JOIN accounts a ON a.id = p.account_id WHERE p.asset <> a.asset;

SELECT 'each balance is the sum of its postings, without those not credited', count(*)
  FROM accounts a
  LEFT JOIN (SELECT account_id, sum(delta) AS total FROM postings GROUP BY account_id) posted
    ON posted.account_id = a.id
  LEFT JOIN (SELECT account_id, sum(amount) AS total FROM uncredited GROUP BY account_id) later
    ON later.account_id = a.id
  WHERE a.balance + coalesce(later.total, 0) <> coalesce(posted.total, 0);

SELECT 'no balance is below zero', count(*) FROM accounts WHERE balance < 0;

SELECT 'nothing is left to be credited', count(*) FROM uncredited;

SELECT 'payments in the ledger are those that pgbench counted',
  abs(count(*) - :payments) FROM transactions WHERE operation = 'pay';

SELECT 'each payment has one key, and each key of a payment a payment', count(*)
  FROM (SELECT id, customer_id FROM transactions WHERE operation = 'pay') t
  FULL JOIN (SELECT transaction_id, count(*) AS keys, min(principal) AS principal, min(status) AS status
    FROM idempotency_keys WHERE transaction_id IS NOT NULL GROUP BY transaction_id) k ON k.transaction_id = t.id
  WHERE t.id IS NULL OR k.keys IS DISTINCT FROM 1 OR k.status <> 201 OR k.principal <> 'customer:' || t.customer_id;

SELECT 'each stored response says what the postings say', count(*)
  FROM idempotency_keys k
  JOIN transactions t ON t.id = k.transaction_id
  LEFT JOIN (
    SELECT p.transaction_id,
      max(-delta) FILTER (WHERE owner_kind = 'customer' AND p.asset = 'ECOPAY' AND owner_id = t.customer_id) AS paid,
      max(delta) FILTER (WHERE owner_kind = 'merchant' AND owner_id = t.merchant_id) AS received,
      coalesce(max(delta) FILTER (WHERE owner_kind = 'customer' AND p.asset = 'POINT'), 0) AS points
      FROM postings p JOIN accounts a ON a.id = p.account_id JOIN transactions t ON t.id = p.transaction_id
      GROUP BY p.transaction_id) posted ON posted.transaction_id = t.id
  WHERE (k.response::json->>'transaction_id')::bigint IS DISTINCT FROM t.id
    OR (k.response::json->>'merchant_id')::bigint IS DISTINCT FROM t.merchant_id
    OR (k.response::json->>'amount')::bigint IS DISTINCT FROM posted.paid
    OR (k.response::json->>'amount')::bigint IS DISTINCT FROM posted.received
    OR (k.response::json->>'points_earned')::bigint IS DISTINCT FROM posted.points
    OR posted.points IS DISTINCT FROM t.amount / 100;
