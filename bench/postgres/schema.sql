-- A double-entry ledger as its users would build it in PostgreSQL: balances are rows, postings are append-only.
--
-- Amounts are BIGINT minor units: 8 bytes and integer arithmetic, where NUMERIC has a variable length and is computed
-- digit by digit. Text is compared byte by byte (the cluster's locale is C.UTF-8).

CREATE TABLE tenants (
  id integer PRIMARY KEY,
  slug text NOT NULL UNIQUE,
  points_percent integer NOT NULL CHECK (points_percent BETWEEN 0 AND 100)
);

-- How a payment reaches the merchant's balance: `shards` rows that hold it together, and whether the payment itself
-- or a worker adds to them.
CREATE TABLE merchants (
  tenant_id integer NOT NULL REFERENCES tenants,
  id bigint NOT NULL,
  name text NOT NULL,
  suspended boolean NOT NULL DEFAULT false,
  shards smallint NOT NULL DEFAULT 1 CHECK (shards BETWEEN 1 AND 64),
  credited text NOT NULL DEFAULT 'in_payment' CHECK (credited IN ('in_payment', 'in_batches')),
  PRIMARY KEY (tenant_id, id)
);

-- One row per owner and asset; a merchant with N shards has N. The tenant's own accounts (points_issued,
-- opening_balances) keep no balance: it is the sum of their postings, and every payment would lock that row.
-- The free space of each page keeps an updated row in its page, so that no index changes (HOT).
CREATE TABLE accounts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id integer NOT NULL REFERENCES tenants,
  owner_kind text NOT NULL CHECK (owner_kind IN ('customer', 'merchant', 'points_issued', 'opening_balances')),
  owner_id bigint NOT NULL,
  asset text NOT NULL CHECK (asset IN ('ECOPAY', 'POINT')),
  shard smallint NOT NULL DEFAULT 0,
  frozen boolean NOT NULL DEFAULT false,
  balance bigint CHECK (balance >= 0),
  UNIQUE (tenant_id, owner_id, owner_kind, asset, shard),
  CHECK ((balance IS NULL) = (owner_kind IN ('points_issued', 'opening_balances')))
) WITH (fillfactor = 50);

CREATE SEQUENCE transaction_ids;

CREATE TABLE transactions (
  id bigint PRIMARY KEY DEFAULT nextval('transaction_ids'),
  tenant_id integer NOT NULL REFERENCES tenants,
  operation text NOT NULL CHECK (operation IN ('pay', 'open')),
  customer_id bigint NOT NULL,
  merchant_id bigint,
  amount bigint NOT NULL CHECK (amount > 0),
  points_earned bigint NOT NULL DEFAULT 0 CHECK (points_earned >= 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  FOREIGN KEY (tenant_id, merchant_id) REFERENCES merchants
);

CREATE TABLE postings (
  transaction_id bigint NOT NULL REFERENCES transactions,
  line smallint NOT NULL,
  account_id bigint NOT NULL REFERENCES accounts,
  asset text NOT NULL,
  delta bigint NOT NULL CHECK (delta <> 0),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (transaction_id, line)
);
CREATE INDEX postings_of_account ON postings (account_id, created_at);

-- The stored response of each key. `transaction_id` is null for a stored refusal. It is no foreign key, because the
-- key is inserted before the transaction; check.sql compares both.
CREATE TABLE idempotency_keys (
  tenant_id integer NOT NULL REFERENCES tenants,
  principal text NOT NULL,
  key text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
  fingerprint bytea NOT NULL,
  status smallint NOT NULL,
  response text NOT NULL,
  transaction_id bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, principal, key)
);

-- Merchants' postings that a worker has not added to the balance yet.
CREATE TABLE uncredited (
  transaction_id bigint PRIMARY KEY REFERENCES transactions,
  account_id bigint NOT NULL,
  amount bigint NOT NULL CHECK (amount > 0)
);

-- Payments are made by a role that cannot change or delete a posting.
GRANT SELECT ON tenants, merchants, accounts, transactions, postings, idempotency_keys, uncredited TO app;
GRANT UPDATE (balance) ON accounts TO app;
GRANT INSERT ON transactions, postings, idempotency_keys, uncredited TO app;
GRANT UPDATE (status, response, transaction_id) ON idempotency_keys TO app;
GRANT DELETE, UPDATE ON uncredited TO app;
GRANT USAGE ON SEQUENCE transaction_ids TO app;
