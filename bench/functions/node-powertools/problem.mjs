// The problems that a client can receive, as RFC 9457 documents.

export const BODY_BYTES_MAX = 64 * 1024;

const PROBLEMS = {
  account_frozen: [400, 'The account is frozen', 'The account is frozen: debits are refused.'],
  idempotency_key_invalid: [400, 'The idempotency key is not valid', ''],
  idempotency_key_missing: [400, 'An idempotency key is required',
    'send an Idempotency-Key header, for example a UUID made for this one request'],
  insufficient_balance: [400, 'Insufficient balance', "The account's balance is too low."],
  invalid_request: [400, 'The request is not valid', ''],
  wrong_state: [400, 'The state does not allow the request',
    'The state of the resource does not allow the request.'],
  unauthenticated: [401, 'Authentication required',
    'Send a valid token of this service in the Authorization header.'],
  tenant_unknown: [403, 'Unknown tenant', "The token's tenant is not open."],
  wrong_face: [403, 'The token is for another API', 'This token is for another API.'],
  not_found: [404, 'Not found', 'There is no such resource.'],
  method_not_allowed: [405, 'Method not allowed', 'The path does not have this method: see the Allow header.'],
  idempotency_key_in_use: [409, 'The request is still running',
    'An earlier request with this idempotency key is still running: retry later.'],
  body_too_large: [413, 'The body is too large', `A request's body has at most ${BODY_BYTES_MAX} bytes.`],
  unsupported_media_type: [415, 'The body must be JSON',
    'Send the body as `Content-Type: application/json`, in UTF-8 and without a content encoding.'],
  idempotency_key_fingerprint_mismatch: [422, 'The idempotency key belongs to another request',
    'This idempotency key was used for a different request. Send the original request, or use another key.'],
  internal: [500, 'Internal error',
    'An internal error occurred and was logged. Repeat the request with the same idempotency key.'],
  busy: [503, 'Busy', 'Nothing was done. Repeat the request with the same idempotency key.'],
  unavailable: [503, 'Temporarily unavailable',
    "The ledger's store does not answer. Nothing was done. Repeat the request with the same idempotency key."],
  outcome_unknown: [503, 'The outcome is unknown',
    'The operation may have been executed. Repeat the request with the same idempotency key to find out.'],
};
const RETRY_AFTER_SECONDS = { idempotency_key_in_use: 1, busy: 1, unavailable: 2, outcome_unknown: 2 };

/** These refusals are stored under the key, so that every retry gets the same response. */
export const TERMINAL = new Set(['account_frozen', 'insufficient_balance', 'wrong_state']);

/** A refusal with its problem document. */
export class Problem extends Error {
  constructor(code, detail, extra = {}, options = {}) {
    super(code, options);
    this.name = 'Problem';
    this.code = code;
    const [status, title, text] = PROBLEMS[code];
    this.status = status;
    this.headers = {};
    const type = `https://ecopay.example/problems/${code}`;
    const document = { type, title, status, detail: detail ?? text, code, ...extra };
    const after = RETRY_AFTER_SECONDS[code];
    if (after) {
      document.retry_after_ms = after * 1000;
      this.headers['retry-after'] = String(after);
    }
    if (code === 'unauthenticated') this.headers['www-authenticate'] = 'Bearer';
    this.body = JSON.stringify(document);
  }

  /** The refusal as a response that can be stored. */
  answer() {
    return { status: this.status, content_type: 'application/problem+json', body: this.body, code: this.code };
  }
}

/** A 400 that names the field and does not repeat its value. */
export function invalidField(field, why) {
  return new Problem('invalid_request', `${field}: ${why}`, { field });
}
