// A loop over Lambda's Runtime API: takes an event, calls the handler, sends its response. The connection is kept open.
// Usage: AWS_LAMBDA_RUNTIME_API=HOST:PORT node runtime.mjs

import http from 'node:http';

const PREFIX = '/2018-06-01/runtime';
const [host, port] = process.env.AWS_LAMBDA_RUNTIME_API.split(':');
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

function call(method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : {
      'content-type': 'application/json', 'content-length': Buffer.byteLength(body),
    };
    const request = http.request({ host, port, method, path: PREFIX + path, agent, headers }, (response) => {
      const chunks = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ headers: response.headers, body: Buffer.concat(chunks).toString() }));
    });
    request.on('error', reject);
    request.end(body);
  });
}

const errorOf = (error) => JSON.stringify({ errorType: error.name, errorMessage: error.message, stackTrace: [] });

let handler;
try {
  ({ handler } = await import('./index.mjs'));
} catch (error) {
  console.error(error);
  await call('POST', '/init/error', errorOf(error));
  process.exit(1);
}

for (;;) {
  const event = await call('GET', '/invocation/next');
  const id = event.headers['lambda-runtime-aws-request-id'];
  const deadline = Number(event.headers['lambda-runtime-deadline-ms']);
  const context = {
    awsRequestId: id,
    functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
    functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
    memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    invokedFunctionArn: event.headers['lambda-runtime-invoked-function-arn'],
    getRemainingTimeInMillis: () => deadline - Date.now(),
  };
  try {
    const response = await handler(JSON.parse(event.body), context);
    await call('POST', `/invocation/${id}/response`, JSON.stringify(response));
  } catch (error) {
    await call('POST', `/invocation/${id}/error`, errorOf(error));
  }
}
