// The table: one client for the process, reads, the transaction, and what its cancellation means.

import { setTimeout as sleep } from 'node:timers/promises';
import {
  DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  TransactionCanceledException,
} from '@aws-sdk/client-dynamodb';
import { Problem } from './problem.mjs';

export const TABLE = process.env.TABLE_NAME;

const CACHE_MS = 60_000;
const CONFLICT_RETRIES = 3;
const CONFLICT_PAUSE_MS = 50;
const THROTTLED = new Set([
  'ThrottlingException', 'ProvisionedThroughputExceededException', 'RequestLimitExceeded',
]);
export const FAILED_CONDITION = 'ConditionalCheckFailed';

// One client for the process: the SDK keeps its connection open between invocations. The retries repeat the same
// ClientRequestToken, which the SDK makes once for a command.
export const client = new DynamoDBClient({
  ...(process.env.LEDGER_ENDPOINT_URL ? { endpoint: process.env.LEDGER_ENDPOINT_URL } : {}),
  retryMode: 'standard',
  maxAttempts: 4,
  requestHandler: { connectionTimeout: 1000, requestTimeout: 1500, throwOnRequestTimeout: true },
});

const cache = new Map();

/** A record that changes rarely, at most a minute old. An absent record is read again each time. */
export async function cachedItem(partition, sort) {
  const name = `${partition} ${sort}`;
  const entry = cache.get(name);
  if (entry && performance.now() - entry.readAt < CACHE_MS) return entry.item;
  const item = await getItem(partition, sort);
  if (item) cache.set(name, { item, readAt: performance.now() });
  return item;
}

/** One item by a consistent read. */
export async function getItem(partition, sort) {
  const Key = { uuid: { S: partition }, type: { S: sort } };
  return (await read(new GetItemCommand({ TableName: TABLE, Key, ConsistentRead: true }))).Item;
}

/** The items of a partition under a prefix, by a consistent read. */
export async function query(partition, prefix) {
  const page = await read(new QueryCommand({
    TableName: TABLE,
    KeyConditionExpression: '#pk = :pk AND begins_with(#sk, :prefix)',
    ExpressionAttributeNames: { '#pk': 'uuid', '#sk': 'type' },
    ExpressionAttributeValues: { ':pk': { S: partition }, ':prefix': { S: prefix } },
    ConsistentRead: true,
  }));
  return page.Items;
}

async function read(command) {
  try {
    return await client.send(command);
  } catch (error) {
    throw new Problem(THROTTLED.has(error.name) ? 'busy' : 'unavailable', undefined, {}, { cause: error });
  }
}

/**
 * Writes one transaction. `undefined`: it is applied. A list: the reasons, of which one is a failed condition.
 *
 * Only conflicts are retried. An outcome that is not known is never reported as a failure.
 */
export async function write(items, countConflict) {
  for (let retry = 0; retry <= CONFLICT_RETRIES; retry += 1) {
    const reasons = await writeOnce(items);
    const codes = reasons?.map((reason) => reason.Code ?? 'None');
    if (!codes || (['None', FAILED_CONDITION].includes(codes[0]) && codes.includes(FAILED_CONDITION))) return reasons;
    const others = [...new Set(codes)].filter((code) => code !== 'None' && code !== FAILED_CONDITION);
    if (others.length !== 1 || others[0] !== 'TransactionConflict') {
      const known = ['TransactionConflict', 'ProvisionedThroughputExceeded', 'ThrottlingError'];
      throw new Problem(others.length > 0 && others.every((code) => known.includes(code)) ? 'busy' : 'internal');
    }
    countConflict();
    if (retry < CONFLICT_RETRIES) await sleep(CONFLICT_PAUSE_MS * 2 ** retry * (1 + Math.random() / 2));
  }
  throw new Problem('busy');
}

async function writeOnce(TransactItems) {
  try {
    await client.send(new TransactWriteItemsCommand({ TransactItems }));
    return undefined;
  } catch (error) {
    if (error instanceof TransactionCanceledException) return error.CancellationReasons;
    throw new Problem(codeOfWriteError(error), undefined, {}, { cause: error });
  }
}

function codeOfWriteError(error) {
  if (THROTTLED.has(error.name)) return 'busy';
  const status = error.$metadata?.httpStatusCode ?? 500;
  return status >= 500 || error.name === 'TransactionInProgressException' ? 'outcome_unknown' : 'internal';
}

/** Opens the connection during init, so that the first request does not wait for it. The item need not exist. */
export async function warmUp() {
  // The first request reports the same error.
  await getItem('warm-up#tenant#root', 'CONFIG').catch(() => {});
}
