-- pay() is a whole payment in one round trip and one transaction. Every payment takes its row locks in this order:
-- key, customer's money, customer's points, merchant. The merchant's row is last, because payers share it.

CREATE FUNCTION pay(
  p_tenant integer, p_customer bigint, p_merchant bigint, p_amount bigint, p_key text, p_fingerprint bytea,
  OUT status smallint, OUT body text, OUT replayed boolean
) LANGUAGE plpgsql AS $$
DECLARE
  v_principal text := 'customer:' || p_customer;
  v_transaction bigint;
  v_points bigint;
  v_refusal text;
  v_stored bytea;
  v_frozen boolean;
  v_customer_money bigint;
  v_customer_points bigint;
  v_merchant record;
BEGIN
  replayed := false;
  IF p_amount IS NULL OR p_amount <= 0 THEN
    status := 400;
    body := '{"code":"invalid_request","status":400}';
    RETURN;
  END IF;

  -- A connection uses one shard: two connections meet on a row only if they share a shard.
  SELECT m.name, m.suspended, m.credited, t.points_percent, account.id AS account, issued.id AS issued
    INTO v_merchant
    FROM merchants m
    JOIN tenants t ON t.id = m.tenant_id
    JOIN accounts account ON account.tenant_id = m.tenant_id AND account.owner_id = m.id
      AND account.owner_kind = 'merchant' AND account.asset = 'ECOPAY' AND account.shard = pg_backend_pid() % m.shards
    JOIN accounts issued ON issued.tenant_id = m.tenant_id AND issued.owner_id = 0
      AND issued.owner_kind = 'points_issued' AND issued.asset = 'POINT'
    WHERE m.tenant_id = p_tenant AND m.id = p_merchant;

  -- The response is complete before the key is inserted, so that the key's row is written once.
  IF v_merchant.account IS NULL THEN
    v_refusal := 'not_found';
  ELSIF v_merchant.suspended THEN
    v_refusal := 'wrong_state';
  END IF;
  IF v_refusal IS NULL THEN
    v_transaction := nextval('transaction_ids');
    v_points := p_amount * v_merchant.points_percent / 100;
    status := 201;
    body := format(
      '{"transaction_id":"%s","status":"captured","merchant_id":"%s","merchant_name":%s,"asset":"ECOPAY",'
      '"amount":"%s","paid":{"ECOPAY":"%s"},"points_earned":"%s","created_at":"%s"}',
      v_transaction, p_merchant, to_json(v_merchant.name), p_amount, p_amount, v_points,
      to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'));
  ELSE
    SELECT r.status, r.body INTO status, body FROM refusal(v_refusal) r;
  END IF;

  -- Waits while another transaction inserts the same key, until it commits or rolls back.
  INSERT INTO idempotency_keys (tenant_id, principal, key, fingerprint, status, response, transaction_id)
    VALUES (p_tenant, v_principal, p_key, p_fingerprint, status, body, v_transaction)
    ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    SELECT k.fingerprint, k.status, k.response INTO STRICT v_stored, status, body
      FROM idempotency_keys k WHERE k.tenant_id = p_tenant AND k.principal = v_principal AND k.key = p_key;
    IF v_stored IS DISTINCT FROM p_fingerprint THEN
      SELECT r.status, r.body INTO status, body FROM refusal('idempotency_key_reused') r;
    ELSE
      replayed := true;
    END IF;
    RETURN;
  END IF;
  IF v_refusal IS NOT NULL THEN
    RETURN;
  END IF;

  UPDATE accounts SET balance = balance - p_amount
    WHERE tenant_id = p_tenant AND owner_id = p_customer AND owner_kind = 'customer' AND asset = 'ECOPAY' AND shard = 0
      AND NOT frozen AND balance >= p_amount
    RETURNING id INTO v_customer_money;
  IF v_customer_money IS NULL THEN
    SELECT frozen INTO v_frozen FROM accounts
      WHERE tenant_id = p_tenant AND owner_id = p_customer AND owner_kind = 'customer' AND asset = 'ECOPAY'
        AND shard = 0;
    v_refusal := CASE WHEN v_frozen IS NULL THEN 'not_found' WHEN v_frozen THEN 'account_frozen'
      ELSE 'insufficient_balance' END;
    SELECT r.status, r.body INTO status, body FROM refusal(v_refusal) r;
    UPDATE idempotency_keys k SET status = pay.status, response = pay.body, transaction_id = NULL
      WHERE k.tenant_id = p_tenant AND k.principal = v_principal AND k.key = p_key;
    RETURN;
  END IF;
  IF v_points > 0 THEN
    UPDATE accounts SET balance = balance + v_points
      WHERE tenant_id = p_tenant AND owner_id = p_customer AND owner_kind = 'customer' AND asset = 'POINT'
        AND shard = 0
      RETURNING id INTO STRICT v_customer_points;
  END IF;

  INSERT INTO transactions (id, tenant_id, operation, customer_id, merchant_id, amount, points_earned)
    VALUES (v_transaction, p_tenant, 'pay', p_customer, p_merchant, p_amount, v_points);
  -- Before the postings: their foreign key then finds the row locked by its own transaction. A shared lock on a row
  -- that other payments update would cost each of them a multixact.
  IF v_merchant.credited = 'in_payment' THEN
    UPDATE accounts SET balance = balance + p_amount WHERE id = v_merchant.account;
  ELSE
    INSERT INTO uncredited (transaction_id, account_id, amount) VALUES (v_transaction, v_merchant.account, p_amount);
  END IF;

  IF v_points > 0 THEN
    INSERT INTO postings (transaction_id, line, account_id, asset, delta) VALUES
      (v_transaction, 1, v_customer_money, 'ECOPAY', -p_amount),
      (v_transaction, 2, v_merchant.account, 'ECOPAY', p_amount),
      (v_transaction, 3, v_merchant.issued, 'POINT', -v_points),
      (v_transaction, 4, v_customer_points, 'POINT', v_points);
  ELSE
    INSERT INTO postings (transaction_id, line, account_id, asset, delta) VALUES
      (v_transaction, 1, v_customer_money, 'ECOPAY', -p_amount),
      (v_transaction, 2, v_merchant.account, 'ECOPAY', p_amount);
  END IF;
END $$;

-- The status and body of a refusal, by its code.
CREATE FUNCTION refusal(p_code text, OUT status smallint, OUT body text) LANGUAGE sql IMMUTABLE AS $$
  SELECT s, format('{"code":"%s","status":%s}', p_code, s)
    FROM (SELECT CASE p_code WHEN 'not_found' THEN 404 WHEN 'idempotency_key_reused' THEN 422 ELSE 400 END::smallint)
      AS of_code (s)
$$;

-- Adds up to p_limit postings to their merchants' balances, each once, and returns their number. A posting is
-- taken from the list and added to the balance in one transaction. Two workers never take the same posting.
CREATE FUNCTION credit_merchants(p_limit integer) RETURNS bigint LANGUAGE sql AS $$
  WITH taken AS (
    DELETE FROM uncredited WHERE transaction_id = ANY (ARRAY(
      SELECT transaction_id FROM uncredited ORDER BY transaction_id LIMIT p_limit FOR UPDATE SKIP LOCKED))
    RETURNING account_id, amount
  ), sums AS (
    SELECT account_id, sum(amount)::bigint AS amount, count(*) AS postings FROM taken GROUP BY account_id
  ), credited AS (
    UPDATE accounts SET balance = balance + sums.amount FROM sums WHERE accounts.id = sums.account_id
    RETURNING sums.postings
  )
  SELECT coalesce(sum(postings), 0)::bigint FROM credited
$$;
