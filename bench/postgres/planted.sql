-- Changes the books in ways that check.sql must find; the caller rolls it back. Found by seven of its checks: the sums
-- of a transaction and of all, a balance, uncredited postings, the count of payments (the caller gives one too many),
-- a payment without key, a response that does not say what the postings say.
UPDATE accounts SET balance = balance + 1 WHERE owner_kind = 'customer' AND owner_id = 2 AND asset = 'POINT';
UPDATE postings SET delta = delta - 1
  WHERE (transaction_id, line) = (SELECT min(id), 1::smallint FROM transactions WHERE operation = 'pay');
DELETE FROM idempotency_keys WHERE transaction_id = (SELECT max(id) FROM transactions WHERE operation = 'pay');
INSERT INTO uncredited (transaction_id, account_id, amount)
  SELECT id, (SELECT min(id) FROM accounts WHERE owner_kind = 'merchant'), 1 FROM transactions ORDER BY id DESC LIMIT 1;
