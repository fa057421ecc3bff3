// A storefront terminal: enrols, signs its requests (RFC 9421) and sends them.
// docs/terminals.md says what is signed, and what to do with each answer.

import { createHash, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { createSigner, createVerifier, httpbis } from 'http-message-signatures';

const ALGORITHM = 'ecdsa-p256-sha256';
const ATTEMPTS_MAX = 5;
const TIMEOUT_MS = 35_000;
const USAGE = `usage: node terminal.mjs [--url URL] [--credential FILE] COMMAND
  enrol CODE                answer an enrolment code with a new public key
  send METHOD PATH [BODY]   sign a request and send it
      --key KEY             idempotency key [the next of the sequence]
      --created SECONDS     time of the signature, Unix seconds [now]
      --dry-run             print the signed request, send nothing
  vectors FILE              check the published vectors`;

// Signing

/** Puts the signature's headers on `request`; returns the signature base. Times are Unix seconds. */
async function sign(request, keyId, privateKey, { created, expires, nonce }) {
  const fields = ['@method', '@path', '@query', 'content-digest'];
  if ('idempotency-key' in request.headers) fields.push('idempotency-key');
  const digest = createHash('sha256').update(request.body).digest('base64');
  request.headers['content-digest'] = `sha-256=:${digest}:`;
  // A second signature beside the first would be refused.
  delete request.headers['signature-input'];
  delete request.headers.signature;

  const params = ['created', 'keyid', 'alg'];
  if (expires !== undefined) params.push('expires');
  if (nonce !== undefined) params.push('nonce');
  const date = (epochS) => (epochS === undefined ? undefined : new Date(epochS * 1000));
  const signer = createSigner(privateKey, ALGORITHM, keyId);
  let base;
  // A terminal with a secure element calls it here: SHA-256 and ECDSA, `r` and `s` of 32 bytes each.
  const key = { ...signer, sign: (bytes) => signer.sign((base = bytes)) };
  const config = { key, name: 'terminal', fields, params };
  const paramValues = { created: date(created), expires: date(expires), nonce };
  const signed = await httpbis.signMessage({ ...config, paramValues }, request);
  request.headers = Object.fromEntries(
    Object.entries(signed.headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return base;
}

// The credential: a file that only its owner can read.

function load(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

function save(path, credential) {
  const beside = `${path}.tmp`;
  const file = openSync(beside, 'w', 0o600);
  writeSync(file, JSON.stringify(credential, null, 2));
  fsyncSync(file);
  closeSync(file);
  renameSync(beside, path);
}

/** The idempotency key of a new operation. The sequence is stored before the key is used. */
function nextKey(path) {
  const credential = load(path);
  credential.sequence += 1;
  save(path, credential);
  return `${credential.terminal_id}-${credential.epoch}-${credential.sequence}`;
}

// Sending

/** Sends once. `undefined` if there is no answer: then the outcome is unknown. */
async function exchange({ method, url, headers, body }) {
  try {
    const response = await fetch(url, {
      method,
      headers,
      body: body === '' ? undefined : body,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    return { status: response.status, headers: response.headers, body: await response.text() };
  } catch {
    return undefined;
  }
}

/** Sends until there is an answer that a repetition would not change: same key, same body. */
async function send(request, beforeEach = async () => {}) {
  for (let attempt = 1; ; attempt += 1) {
    await beforeEach();
    const answer = await exchange(request);
    if (answer && answer.status !== 429 && answer.status < 500) return answer;
    if (attempt === ATTEMPTS_MAX) {
      const key = request.headers['idempotency-key'];
      throw new Error(`The outcome is unknown. Repeat it, or reverse it: ${key}`);
    }
    await sleep(Number(answer?.headers.get('retry-after') ?? 1) * 1000);
  }
}

// Commands

async function enrol({ url, credential: path }, [code]) {
  const credential = existsSync(path) ? load(path) : {};
  if (!credential.next_private_key) {
    const made = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    credential.next_private_key = made.privateKey.export({ type: 'pkcs8', format: 'pem' });
    // Before the code is answered: if the answer is lost, the same key is sent again.
    save(path, credential);
  }
  const privateKey = credential.next_private_key;
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' });
  const body = JSON.stringify({ code, public_key: publicKey });
  const headers = { 'content-type': 'application/json' };
  const answer = await send({ method: 'POST', url: `${url}/v1/terminal/enrolments`, headers, body });
  if (answer.status === 201) {
    save(path, { private_key: privateKey, ...JSON.parse(answer.body), sequence: 0 });
  }
  return answer;
}

async function call(options, [method, target, body = '']) {
  const credential = load(options.credential);
  const request = { method, url: options.url + target, headers: {}, body };
  if (body !== '') request.headers['content-type'] = 'application/json';
  if (method !== 'GET') request.headers['idempotency-key'] = options.key ?? nextKey(options.credential);
  // For each attempt again: `created` has to be near the server's time.
  const signed = () =>
    sign(request, credential.key_id, credential.private_key, {
      created: Number(options.created ?? Math.floor(Date.now() / 1000)),
      nonce: randomBytes(12).toString('base64url'),
    });
  if (options['dry-run']) {
    await signed();
    console.log(JSON.stringify(request));
    return undefined;
  }
  if ('idempotency-key' in request.headers) {
    console.log(`sent with idempotency-key: ${request.headers['idempotency-key']}`);
  }
  return send(request, signed);
}

/** Compares what this file signs with the published vectors. */
async function check(_, [file]) {
  const { key, vectors } = load(file);
  const verify = createVerifier(key.public_key, ALGORITHM);
  for (const vector of vectors) {
    const published = Object.fromEntries(vector.headers);
    const { method, target, body } = vector;
    const request = { method, url: `https://terminal.example${target}`, headers: {}, body };
    if ('idempotency-key' in published) request.headers['idempotency-key'] = published['idempotency-key'];
    const base = await sign(request, key.keyid, key.private_key, vector);
    same(vector, 'signature base', base.toString(), vector.signature_base.join('\n'));
    for (const name of ['content-digest', 'signature-input']) {
      same(vector, name, request.headers[name], published[name]);
    }
    for (const header of [published.signature, request.headers.signature]) {
      const signature = Buffer.from(/^terminal=:(.*):$/.exec(header)[1], 'base64');
      if (!(await verify(base, signature))) throw new Error(`${vector.id}: the signature does not verify`);
    }
    console.log(`ok  ${vector.id}`);
  }
}

function same(vector, what, ours, published) {
  if (ours !== published) {
    throw new Error(`${vector.id}: another ${what}\nours:      ${ours}\npublished: ${published}`);
  }
}

const commands = { enrol, send: call, vectors: check };
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    url: { type: 'string', default: 'http://127.0.0.1:3000' },
    credential: { type: 'string', default: 'terminal.json' },
    key: { type: 'string' },
    created: { type: 'string' },
    'dry-run': { type: 'boolean', default: false },
  },
});
const [name, ...rest] = positionals;
if (!Object.hasOwn(commands, name ?? '') || rest.length === 0) {
  console.error(USAGE);
  process.exit(2);
}
const answer = await commands[name]({ ...values, url: values.url.replace(/\/$/, '') }, rest);
if (answer) {
  console.log(`HTTP ${answer.status}`);
  for (const header of ['idempotent-replayed', 'retry-after']) {
    if (answer.headers.has(header)) console.log(`${header}: ${answer.headers.get(header)}`);
  }
  console.log(`\n${answer.body}`);
  process.exitCode = answer.status >= 400 ? 1 : 0;
}
