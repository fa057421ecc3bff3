// `POST /v1/me/payments` and `GET /v1/me/balances` with AWS Lambda Powertools for TypeScript, as its documentation
// recommends.
//
// The Idempotency utility claims the key with a write to its table, the payment's items are one
// TransactWriteItems, and the utility stores the response with a third write.
//
// Guarantee that it does NOT give: the key's record and the payment are not one transaction.
// - If the process ends, or the third write fails, after the payment was applied, the record stays in progress. A retry
//   after the function's timeout pays a second time.
// - If the outcome of the payment's transaction is unknown (a timeout), the utility deletes the record because an
//   exception was raised. The next retry pays a second time if the first payment was applied.
// - A key is free again when its record has expired, and a UUIDv7's own time is not looked at.

import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { DynamoDBPersistenceLayer } from '@aws-lambda-powertools/idempotency/dynamodb';
import {
  IdempotencyAlreadyInProgressError,
  IdempotencyInconsistentStateError,
  IdempotencyPersistenceLayerError,
  IdempotencyValidationError,
} from '@aws-lambda-powertools/idempotency';
import { Logger } from '@aws-lambda-powertools/logger';
import { MetricUnit, Metrics } from '@aws-lambda-powertools/metrics';
import { NAMESPACE, OPERATION, balances, plan, refusal } from './payment.mjs';
import { Problem, TERMINAL } from './problem.mjs';
import {
  BALANCES_PATH, PAYMENTS_PATH, caller, canonicalRequest, idempotencyKey, readRequest,
} from './request.mjs';
import { FAILED_CONDITION, client, warmUp, write } from './table.mjs';

const REPLAY_SECONDS = 90 * 24 * 60 * 60;
const METHODS = { [PAYMENTS_PATH]: 'POST', [BALANCES_PATH]: 'GET' };

const logger = new Logger({ serviceName: 'customer', logLevel: process.env.LOG_LEVEL?.toUpperCase() ?? 'INFO' });
const metrics = new Metrics({ namespace: NAMESPACE, serviceName: 'customer' });
const count = (metric) => metrics.addMetric(metric, MetricUnit.Count, 1);

const config = new IdempotencyConfig({
  eventKeyJmesPath: 'key',
  payloadValidationJmesPath: 'canonical',
  throwOnNoIdempotencyKey: true,
  expiresAfterSeconds: REPLAY_SECONDS,
  hashFunction: 'sha256',
  responseHook: (response) => {
    count('IdempotencyReplay');
    return { ...response, replayed: true };
  },
});
const persistenceStore = new DynamoDBPersistenceLayer({
  tableName: process.env.IDEMPOTENCY_TABLE_NAME,
  awsSdkV3Client: client,
});

/** Makes the payment. A terminal refusal is returned, and so stored; any other is thrown, and frees the key. */
const pay = makeIdempotent(
  async (_claim, payment) => {
    try {
      const { items, answer } = await plan(payment);
      const reasons = await write(items, () => count('TransactionConflict'));
      if (!reasons) return answer;
      const at = reasons.findIndex((reason) => reason.Code === FAILED_CONDITION);
      throw refusal(items[at], reasons[at]);
    } catch (error) {
      if (error instanceof Problem && TERMINAL.has(error.code)) return error.answer();
      throw error;
    }
  },
  { persistenceStore, config, dataIndexArgument: 0 },
);

await warmUp();

/** Answers one event of API Gateway's HTTP API, payload version 2.0. */
export async function handler(event, context) {
  const began = performance.now();
  config.registerLambdaContext(context);
  const { method } = event.requestContext.http;
  const notes = { method, path: '-' };
  const answer = await route(event, notes).catch(problemOf);
  if (answer.status === 500 || answer.status === 503) count(answer.status === 500 ? 'Broken' : 'FailClosed');
  const requestId = event.requestContext.requestId ?? '';
  logger.info('request', {
    ...notes,
    status: answer.status,
    ...(answer.code && !answer.replayed ? { code: answer.code } : {}),
    replayed: answer.replayed ?? false,
    latency_ms: Math.floor(performance.now() - began),
    request_id: requestId,
  });
  if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
  return {
    statusCode: answer.status,
    headers: {
      'content-type': answer.content_type,
      'request-id': requestId,
      ...answer.headers,
      ...(answer.location ? { location: answer.location } : {}),
      ...(answer.replayed ? { 'idempotent-replayed': 'true' } : {}),
    },
    body: answer.body,
    isBase64Encoded: false,
  };
}

/** The response of the path; `notes` gets the members of its log line. */
async function route(event, notes) {
  const path = event.rawPath;
  if (!Object.hasOwn(METHODS, path)) throw new Problem('not_found');
  notes.path = path;
  if (METHODS[path] !== notes.method) throw new Problem('method_not_allowed');
  const { tenant, customer } = caller(event.requestContext.authorizer?.jwt?.claims);
  notes.tenant = tenant;
  metrics.addDimension('tenant', tenant);
  if (path === BALANCES_PATH) {
    const body = JSON.stringify(await balances({ tenant, customer }));
    return { status: 200, content_type: 'application/json', body };
  }
  notes.operation = OPERATION;
  metrics.addDimension('operation', OPERATION);
  const headers = event.headers ?? {};
  const body = event.isBase64Encoded ? Buffer.from(event.body ?? '', 'base64').toString() : event.body;
  const { request, field } = readRequest(headers['content-type'], body);
  count('KeyedRequest');
  const key = idempotencyKey(headers['idempotency-key'], field);
  const claim = { key: `${tenant}#${customer}#${OPERATION}#${key}`, canonical: canonicalRequest(request) };
  return pay(claim, { tenant, customer, key, request });
}

/** The response of a refusal that is not stored. The detail of a fault is logged, without the request. */
function problemOf(error) {
  const problem = error instanceof Problem ? error : new Problem(codeOf(error));
  if (problem.code === 'internal') {
    logger.error('a request failed for a reason that no request causes', { error_name: error.name });
  }
  return { ...problem.answer(), headers: problem.headers };
}

/** The problem of an error of the Idempotency utility. */
function codeOf(error) {
  if (error instanceof IdempotencyAlreadyInProgressError) return 'idempotency_key_in_use';
  if (error instanceof IdempotencyInconsistentStateError) return 'idempotency_key_in_use';
  if (error instanceof IdempotencyValidationError) {
    count('FingerprintMismatch');
    return 'idempotency_key_fingerprint_mismatch';
  }
  // The record could not be written: before the payment, or after it.
  return error instanceof IdempotencyPersistenceLayerError ? 'outcome_unknown' : 'internal';
}
