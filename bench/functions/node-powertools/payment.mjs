// The payment's rules, the items that its transaction writes, and the balances.
//
// The attributes, expressions and conditions are those of `golden/pay/*.json`. It takes payments in ECOPAY
// with points, the payment that the measurements make: no regional currency, no legacy records, no limit on a tenant's
// rate.

import { createHash, randomFillSync } from 'node:crypto';
import { Problem } from './problem.mjs';
import { TABLE, cachedItem, getItem, query } from './table.mjs';

export const NAMESPACE = 'EcoPay/Payments';
export const OPERATION = 'pay';
const ADD_TOTALS =
  '#aggregate_co2_total :aggregate_co2, #aggregate_payments :aggregate_one, #aggregate_paid_total :aggregate_amount';
// What stands for an asset after a number, in the postings of an entry.
const ASSET_LETTERS = { ECOPAY: '', POINT: 'P' };
const BEGINS_WITH_ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

/** The text and the hash that a seal covers (docs/architecture/typed-text.md). */
function memoOfEntry(memo) {
  const salt = randomFillSync(Buffer.alloc(16));
  const hash = createHash('sha256').update(salt).update(memo, 'utf8').digest();
  return { memo_hash: { B: hash }, _memo: { M: { text: text(memo), salt: { B: salt } } } };
}

/** A UUIDv7 of an instant, with the operating system's randomness. */
function uuid7(millis) {
  const bytes = randomFillSync(Buffer.alloc(16));
  bytes.writeUIntBE(millis, 0, 6);
  bytes[6] = (bytes[6] & 0x0f) | 0x70;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** The exact product of a whole number and a rate, as an integer and its number of decimals. */
function times(amount, rate) {
  const [whole, fraction = ''] = rate.split('.');
  return { value: amount * BigInt(whole + fraction), decimals: fraction.length };
}

/** The canonical decimal text: no trailing zeros. */
function decimalText({ value, decimals }) {
  const sign = value < 0n ? '-' : '';
  const digits = String(value < 0n ? -value : value).padStart(decimals + 1, '0');
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - decimals);
  return sign + (decimals > 0 && fraction ? `${whole}.${fraction}` : whole);
}

/** A stored number, which may have an exponent or trailing zeros, as an integer and its number of decimals. */
function decimal(text) {
  const [, whole, fraction = '', exponent = '0'] = /^(-?\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text);
  const shift = Number(exponent) - fraction.length;
  return { value: BigInt(whole + fraction) * 10n ** BigInt(Math.max(shift, 0)), decimals: Math.max(-shift, 0) };
}

/** The exact sum of two decimals. */
function plus(a, b) {
  const decimals = Math.max(a.decimals, b.decimals);
  const scaled = (each) => each.value * 10n ** BigInt(decimals - each.decimals);
  return { value: scaled(a) + scaled(b), decimals };
}

/** The canonical text of a stored number. */
const canonicalNumber = (text) => decimalText(decimal(text));

/** The shard of an id among an index key's shards. */
const shardOf = (id, shards) => Number.parseInt(id.slice(-8), 16) % Number(shards);

const customerPartition = (tenant, customer) => `${tenant}#customer#${customer}`;
const text = (value) => ({ S: value });
const number = (value) => ({ N: String(value) });
const idBytes = (id) => Buffer.from(id.replaceAll('-', ''), 'hex');

/** The payment's items in the order of `golden/pay/money.json`, and its response. */
export async function plan({ tenant, customer, key, request }) {
  const terms = await cachedItem(`${tenant}#tenant#root`, 'CONFIG');
  if (!terms) throw new Problem('tenant_unknown');
  const merchant = await cachedItem(`${tenant}#merchant#${request.merchant}`, 'PROFILE');
  if (!merchant) throw new Problem('not_found');
  if (merchant.status.S !== 'active') throw new Problem('wrong_state');

  const now = Date.now();
  const [transactionId, paymentId, at] = [uuid7(now), uuid7(now), new Date(now).toISOString()];
  const { amount: total, paid, memo } = request;
  const part = (asset) => paid.find(([name]) => name === asset)?.[1] ?? 0n;
  const [money, used] = [part('ECOPAY'), part('POINT')];
  const points = times(money, terms.points_rate.N);
  const earned = points.value / 10n ** BigInt(points.decimals);
  const co2 = number(decimalText(times(total, terms.co2_rate.N)));
  const co2Rate = number(canonicalNumber(terms.co2_rate.N));
  const memoIfAny = memo === undefined ? {} : { memo: text(memo) };
  const sealedMemo = memo === undefined ? {} : memoOfEntry(memo);
  const partition = customerPartition(tenant, customer);

  const postings = paid.flatMap(([asset, value]) => [
    posting('h', asset, -value),
    posting('m', asset, value),
  ]);
  if (earned) postings.push(posting('points_issued', 'POINT', -earned), posting('h', 'POINT', earned));

  const shard = shardOf(paymentId, merchant.shards.N);
  const payment = {
    uuid: text(`${tenant}#payment#${paymentId}`),
    type: text('PAYMENT'),
    payment_id: text(paymentId),
    transaction_id: text(transactionId),
    merchant_id: text(request.merchant),
    co2,
    co2_rate: co2Rate,
    created_at: text(at),
    ...memoIfAny,
    payer: text(`customer:${customer}`),
    asset: text('ECOPAY'),
    total: number(total),
    points_taken_back: number(0),
    state: text('captured'),
    updated_at: text(at),
    owner_pk: text(`${tenant}#merchant#${request.merchant}#${shard}`),
    owner_sk: text(paymentId),
    ...(earned ? { points_earned: number(earned) } : {}),
  };
  for (const [asset, value] of paid) {
    payment[`captured_${asset.toLowerCase()}`] = number(value);
    payment[`refundable_${asset.toLowerCase()}`] = number(value);
  }
  // The compact form (docs/architecture/entries.md). It has neither the entry's id nor its principal and actor: the id
  // is in the sort key, and both others are the customer of the partition.
  const entry = {
    uuid: text(partition),
    type: text(`TXN#${transactionId}`),
    op: text(OPERATION),
    ca: number(now),
    ...entryKey(key),
    mi: { B: idBytes(request.merchant) },
    pi: { B: idBytes(paymentId) },
    po: text(postings.join(' ')),
    co2,
    cr: co2Rate,
    cs: terms.co2_source,
    cv: terms.co2_version,
    ...sealedMemo,
    credited_by: text('seal'),
    _due_pk: text(`${tenant}#due#publish#${shardOf(transactionId, terms.due_shards.N)}`),
    _due_sk: text(`${transactionId}#${request.merchant}`),
  };
  // The payment counts in the customer's totals beside the first balance that it changes.
  const totals = { ':aggregate_co2': co2, ':aggregate_one': number(1), ':aggregate_amount': number(total) };
  const items = [
    ...(money ? [balanceUpdate(partition, 'ECOPAY', -money, money, at, totals)] : []),
    ...(used || earned ? [balanceUpdate(partition, 'POINT', earned - used, used, at, money ? undefined : totals)] : []),
    putNew(payment),
    putNew(entry),
  ];
  const view = {
    payment_id: paymentId,
    transaction_id: transactionId,
    status: 'captured',
    merchant_id: request.merchant,
    merchant_name: merchant.name.S,
    asset: 'ECOPAY',
    amount: String(total),
    paid: Object.fromEntries(paid.map(([asset, value]) => [asset, String(value)])),
    ...(earned ? { points_earned: String(earned) } : {}),
    co2_kg: co2.N,
    created_at: at,
  };
  const location = `/v1/me/transactions/${transactionId}`;
  return { items, answer: { status: 201, content_type: 'application/json', location, body: JSON.stringify(view) } };
}

/** One side of the double entry, as text: `h` is the customer of the partition, `m` the merchant of `mi`. */
function posting(account, asset, delta) {
  return `${account}${delta < 0n ? '' : '+'}${delta}${ASSET_LETTERS[asset]}`;
}

/** The entry's idempotency key. An id that it begins with is kept as bytes, which are fewer than its text. */
function entryKey(key) {
  const beginning = BEGINS_WITH_ID.exec(key);
  if (!beginning) return { kt: text(key) };
  const [id] = beginning;
  return { ik: { B: Buffer.concat([idBytes(id), Buffer.from(key.slice(id.length))]) } };
}

/** Changes a balance, and the totals beside it; guarded on the amount that is spent from it, if any. */
function balanceUpdate(partition, asset, delta, spent, at, totals) {
  const Key = { uuid: text(partition), type: text(`BALANCE#${asset}`) };
  const guard = spent ? ' AND attribute_not_exists(#frozen) AND #balance >= :amount' : '';
  const ConditionExpression = `attribute_exists(#uuid)${guard}`;
  const amount = spent ? { ':amount': number(spent) } : {};
  if (!delta) return action('ConditionCheck', { Key, ConditionExpression, ExpressionAttributeValues: amount });
  return action('Update', {
    Key,
    UpdateExpression: `ADD #balance :delta, #exposure :delta${totals ? `, ${ADD_TOTALS}` : ''} SET #updated_at = :ua`,
    ConditionExpression,
    ExpressionAttributeValues: { ...amount, ...totals, ':delta': number(delta), ':ua': text(at) },
  });
}

/** Writes an item that must not exist. */
function putNew(Item) {
  return action('Put', { Item, ConditionExpression: 'attribute_not_exists(#uuid)' });
}

/** An action of the transaction, with the names of its placeholders. */
function action(kind, request) {
  const expressions = `${request.UpdateExpression ?? ''} ${request.ConditionExpression ?? ''}`;
  const placeholders = new Set(expressions.match(/#\w+/g));
  const ExpressionAttributeNames = Object.fromEntries([...placeholders].map((name) => [name, name.slice(1)]));
  const shared = { TableName: TABLE, ReturnValuesOnConditionCheckFailure: 'ALL_OLD', ExpressionAttributeNames };
  return { [kind]: { ...request, ...shared } };
}

/** What the failed condition of an effect item means. */
export function refusal(item, { Item: old }) {
  const update = item.Update ?? item.ConditionCheck;
  if (!update) return new Problem('internal');
  if (!old) return new Problem('not_found');
  if (old.frozen) return new Problem('account_frozen');
  const short = BigInt(update.ExpressionAttributeValues[':amount'].N) - BigInt(canonicalNumber(old.balance.N));
  const asset = update.Key.type.S.slice('BALANCE#'.length);
  return new Problem('insufficient_balance', undefined, { balance_short: String(short), asset });
}

/**
 * The customer's balances and totals, by two consistent reads.
 *
 * A total is the sum of METRICS, where earlier payments are, and of what is beside the balances.
 */
export async function balances({ tenant, customer }) {
  const partition = customerPartition(tenant, customer);
  const items = await query(partition, 'BALANCE#');
  if (items.length === 0) throw new Problem('not_found');
  const metrics = (await getItem(partition, 'METRICS')) ?? {};
  const total = (name) => {
    const parts = [metrics[name], ...items.map((item) => item[`aggregate_${name}`])].filter((part) => part);
    return decimalText(parts.map((part) => decimal(part.N)).reduce(plus, { value: 0n, decimals: 0 }));
  };
  const names = ['payments', 'paid_total', 'refunds', 'refunded_total'];
  return {
    balances: items.map(balanceView),
    metrics: { co2_kg: total('co2_total'), ...Object.fromEntries(names.map((name) => [name, total(name)])) },
  };
}

function balanceView(item) {
  const value = (name) => canonicalNumber(item[name]?.N ?? '0');
  const extra = ['reserved', 'owed'].map((name) => [name, value(name)]).filter(([, amount]) => amount !== '0');
  return {
    asset: item.type.S.slice('BALANCE#'.length),
    balance: value('balance'),
    held: value('held'),
    ...Object.fromEntries(extra),
    frozen: 'frozen' in item,
    updated_at: item.updated_at.S,
  };
}
