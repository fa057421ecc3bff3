// Reads a request: the caller, the idempotency key and the typed body. An error never repeats a value.

import { BODY_BYTES_MAX, Problem, invalidField } from './problem.mjs';

export const PAYMENTS_PATH = '/v1/me/payments';
export const BALANCES_PATH = '/v1/me/balances';

const CLIENTS = process.env.CUSTOMER_CLIENTS.split(',');
const MEMO_CHARS_MAX = 140;
const FIELDS = new Set(['merchant_id', 'amount', 'asset', 'points', 'regional', 'memo']);
const AMOUNT = /^(0|[1-9][0-9]{0,14})(\.[0-9]+)?$/;
const TENANT = /^[a-z0-9-]{1,32}$/;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const KEY = /^[!-~]{1,255}$/;
const CARD_NUMBER = /\p{Nd}(?:[ .\-\u2010-\u2015\u3000\u30fc]*\p{Nd}){12,18}/gu;

/** The tenant and the customer, from the claims that the authorizer has verified. */
export function caller(claims = {}) {
  const { tenant = '', sub = '', aud, client_id: client } = claims;
  if (!TENANT.test(tenant)) throw new Problem('unauthenticated');
  if (!CLIENTS.includes(aud ?? client)) throw new Problem('wrong_face');
  if (!UUID.test(sub)) throw new Problem('unauthenticated');
  return { tenant, customer: sub };
}

/** The request's key: header `Idempotency-Key`, bare or quoted, or the body's field `idempotencyKey`. */
export function idempotencyKey(header, field) {
  let key = header?.trim();
  if (key !== undefined && key.length > 1 && key.startsWith('"') && key.endsWith('"')) {
    key = key.slice(1, -1).replace(/\\(.)/g, '$1');
  } else if (key?.includes(',')) {
    throw new Problem('idempotency_key_invalid', 'send one idempotency key, not several');
  } else {
    key = key?.split(';')[0].trimEnd();
  }
  for (const text of [key, field]) {
    if (text !== undefined && !(typeof text === 'string' && KEY.test(text))) {
      throw new Problem('idempotency_key_invalid', 'an idempotency key has 1 to 255 visible ASCII characters');
    }
  }
  if (key && field && key !== field) {
    throw new Problem('idempotency_key_invalid', "the Idempotency-Key header and the body's idempotencyKey differ");
  }
  if (!(key || field)) throw new Problem('idempotency_key_missing');
  return key || field;
}

/** A whole number of yen or points as a BigInt. JSON.parse makes a number a float, so it must be a safe integer. */
function amountOf(field, value) {
  if (typeof value !== 'string' && !Number.isSafeInteger(value)) {
    throw invalidField(field, 'a decimal number as a string, like 1240');
  }
  const match = AMOUNT.exec(String(value));
  if (!match) {
    throw invalidField(field, 'not a decimal number: write digits with an optional point, for example 1240');
  }
  if (/[1-9]/.test(match[2] ?? '')) throw invalidField(field, 'too many decimals: this asset has 0');
  const amount = BigInt(match[1]);
  if (amount === 0n) throw invalidField(field, 'must be greater than zero');
  return amount;
}

/** A memo of one line without a card number; `undefined` if there is none. */
function memoOf(value) {
  if (value === undefined || value === null) return undefined;
  const text = typeof value === 'string' ? value.trim() : '';
  if (text === '' || [...text].length > MEMO_CHARS_MAX) {
    throw invalidField('memo', `a text of 1 to ${MEMO_CHARS_MAX} characters`);
  }
  if (/\p{Cc}/u.test(text)) throw invalidField('memo', 'must not hold control characters');
  for (const [number] of text.matchAll(CARD_NUMBER)) {
    if (isLuhn(number.normalize('NFKC').replace(/[^0-9]/g, ''))) {
      throw invalidField('memo', 'must not hold a card number');
    }
  }
  return text;
}

function isLuhn(digits) {
  const sum = [...digits].reverse().reduce((total, digit, place) => {
    const doubled = place % 2 === 0 ? Number(digit) : Number(digit) * 2;
    return total + (doubled > 9 ? doubled - 9 : doubled);
  }, 0);
  return sum % 10 === 0;
}

/** The typed request, and the body's field `idempotencyKey`. */
export function readRequest(contentType, body = '') {
  if (Buffer.byteLength(body) > BODY_BYTES_MAX) throw new Problem('body_too_large');
  if ((contentType ?? '').split(';')[0].trim().toLowerCase() !== 'application/json') {
    throw new Problem('unsupported_media_type');
  }
  let parsed;
  try {
    parsed = JSON.parse(body);
  } catch {
    throw new Problem('invalid_request', 'The body is not JSON.');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new Problem('invalid_request', 'The body is not a JSON object.');
  }
  const { idempotencyKey: field, ...fields } = parsed;
  for (const name of Object.keys(fields)) {
    if (!FIELDS.has(name)) throw new Problem('invalid_request', `unknown field \`${name.slice(0, 40)}\``);
  }
  const { merchant_id: merchant, asset = 'ECOPAY', regional = {} } = fields;
  if (typeof merchant !== 'string' || !UUID.test(merchant)) {
    throw invalidField('merchant_id', 'not a UUID in lower case with hyphens');
  }
  if (asset !== 'ECOPAY') throw invalidField('asset', 'this function takes ECOPAY');
  if (regional === null || Object.keys(regional).length > 0) {
    throw invalidField('regional', 'this function takes ECOPAY and points');
  }
  const amount = amountOf('amount', fields.amount);
  const points = 'points' in fields ? amountOf('points', fields.points) : 0n;
  if (points > amount) throw invalidField('points', 'the parts are more than the amount');
  const paid = Object.entries({ ECOPAY: amount - points, POINT: points }).filter(([, part]) => part > 0n);
  return { request: { merchant, amount, paid, memo: memoOf(fields.memo) }, field };
}

/** What the key is bound to: the typed request, its members always in this order. */
export function canonicalRequest({ merchant, amount, paid, memo }) {
  const parts = paid.map(([asset, part]) => [asset, String(part)]);
  return JSON.stringify(['POST', PAYMENTS_PATH, merchant, String(amount), parts, memo ?? null]);
}
