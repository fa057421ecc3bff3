-- Opens :customers customers with money, :merchants ordinary merchants, and three that take every payment of their
-- variant: one row, :shards rows, and credited by a worker. Each customer's opening balance is a transaction.

INSERT INTO tenants (id, slug, points_percent) VALUES (1, 'demo', 1);

INSERT INTO merchants (tenant_id, id, name) SELECT 1, n, 'Merchant ' || n FROM generate_series(1, :merchants) n;
INSERT INTO merchants (tenant_id, id, name, shards, credited) VALUES
  (1, :merchants + 1, 'Hot', 1, 'in_payment'),
  (1, :merchants + 2, 'Hot, sharded', :shards, 'in_payment'),
  (1, :merchants + 3, 'Hot, credited in batches', 1, 'in_batches');

INSERT INTO accounts (tenant_id, owner_kind, owner_id, asset) VALUES
  (1, 'points_issued', 0, 'POINT'), (1, 'opening_balances', 0, 'ECOPAY');
INSERT INTO accounts (tenant_id, owner_kind, owner_id, asset, shard, balance)
  SELECT 1, 'merchant', m.id, 'ECOPAY', shard, 0 FROM merchants m, generate_series(0, m.shards - 1) shard;
INSERT INTO accounts (tenant_id, owner_kind, owner_id, asset, balance)
  SELECT 1, 'customer', n, asset, CASE asset WHEN 'ECOPAY' THEN :opening ELSE 0 END
    FROM generate_series(1, :customers) n, unnest(ARRAY['ECOPAY', 'POINT']) asset;

ANALYZE accounts;
INSERT INTO transactions (id, tenant_id, operation, customer_id, amount)
  SELECT nextval('transaction_ids'), 1, 'open', n, :opening FROM generate_series(1, :customers) n;
ANALYZE transactions;
INSERT INTO postings (transaction_id, line, account_id, asset, delta)
  SELECT t.id, side.line, CASE side.line WHEN 1 THEN opening.id ELSE customer.id END, 'ECOPAY', side.sign * t.amount
    FROM transactions t
    JOIN accounts opening ON opening.tenant_id = 1 AND opening.owner_kind = 'opening_balances'
    JOIN accounts customer ON customer.tenant_id = 1 AND customer.owner_id = t.customer_id
      AND customer.owner_kind = 'customer' AND customer.asset = 'ECOPAY'
    CROSS JOIN (VALUES (1, -1), (2, 1)) AS side (line, sign)
    WHERE t.operation = 'open';

VACUUM ANALYZE;
