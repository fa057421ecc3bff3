-- Checks of one key: replay, another request, refusals. Each row: a check, and 0 if it holds. Makes one payment.
-- Customer 1 pays; the account of customer 2 is frozen meanwhile.

SELECT count(*) AS before FROM transactions \gset
SELECT status, body, replayed FROM pay(1, 1, 1, 500, 'replayed', '\x01') \gset first_
SELECT status, body, replayed FROM pay(1, 1, 1, 500, 'replayed', '\x01') \gset second_
SELECT 'a payment is 201 and no replay', (:first_status <> 201 OR :'first_replayed')::int;
SELECT 'a replay has the stored status and bytes',
  (:second_status <> :first_status OR :'second_body' <> :'first_body' OR NOT :'second_replayed'
    OR :'second_body' <> (SELECT response FROM idempotency_keys
      WHERE principal = 'customer:1' AND key = 'replayed'))::int;

SELECT status, body, replayed FROM pay(1, 1, 1, 501, 'replayed', '\x02') \gset other_
SELECT 'the same key with another fingerprint is refused',
  (:other_status <> 422 OR :'other_replayed' OR :'other_body'::json->>'code' <> 'idempotency_key_reused')::int;
SELECT status, body, replayed FROM pay(1, 1, 1, 500, 'replayed', '\x01') \gset third_
SELECT 'the stored response is unchanged after it',
  (:third_status <> 201 OR :'third_body' <> :'first_body' OR NOT :'third_replayed')::int;
SELECT 'all of that is one payment', abs(count(*) - :before - 1) FROM transactions;

SELECT status, body, replayed FROM pay(1, 1, 1, 1000000000000, 'short', '\x03') \gset short_
SELECT status, body, replayed FROM pay(1, 1, 1, 1000000000000, 'short', '\x03') \gset shorter_
SELECT 'a balance that is too low refuses, and the refusal is replayed',
  (:short_status <> 400 OR :'short_body'::json->>'code' <> 'insufficient_balance' OR :'short_replayed'
    OR :'shorter_body' <> :'short_body' OR NOT :'shorter_replayed')::int;

UPDATE accounts SET frozen = true WHERE owner_kind = 'customer' AND owner_id = 2;
SELECT status, body, replayed FROM pay(1, 2, 1, 500, 'frozen', '\x04') \gset frozen_
UPDATE accounts SET frozen = false WHERE owner_kind = 'customer' AND owner_id = 2;
SELECT 'a frozen account refuses',
  (:frozen_status <> 400 OR :'frozen_body'::json->>'code' <> 'account_frozen')::int;
SELECT status, body, replayed FROM pay(1, 1, 0, 500, 'absent', '\x05') \gset absent_
SELECT 'an unknown merchant refuses', (:absent_status <> 404)::int;
SELECT 'refusals make no payment', abs(count(*) - :before - 1) FROM transactions;
