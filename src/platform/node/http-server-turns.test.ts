/** Connections that carry one request after another. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { test } from 'node:test';
import type { HttpRequest, HttpResponse } from '../http.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createTestAuthority } from './certificates-fixture.ts';
import { createListenHttp } from './http-server.ts';

const ANSWER_BYTES = 100_000;

/** Responds as for large requests: after a turn of the event loop, in which the next request is parsed. */
async function answer(request: HttpRequest): Promise<HttpResponse> {
  const { byteLength } = await request.readBody(1e6);
  await new Promise(setImmediate);
  return { kind: 'bytes', status: 200, headers: {}, chunks: [Buffer.from(String(byteLength).padEnd(ANSWER_BYTES))] };
}

/**
 * Sends one request after another on one connection, in a thread: a client in this thread would send the next only after the
 * server has noticed that the response was sent.
 */
const CLIENT = `
  const { parentPort, workerData: { port, ca, requests } } = require('node:worker_threads');
  const https = require('node:https');
  const agent = new https.Agent({ keepAlive: true, maxSockets: 1, ca });
  const body = Buffer.alloc(100_000, 'b');
  const ask = () => new Promise((resolve) => {
    const headers = { 'content-length': body.length };
    const request = https.request({ host: '127.0.0.1', port, agent, method: 'POST', headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += chunk)).on('end', () => resolve(text.trim()));
    });
    request.on('error', (error) => resolve(error.message)).end(body);
  });
  (async () => {
    const answers = [];
    for (let number = 0; number < requests; number++) answers.push(await ask());
    agent.destroy();
    parentPort.postMessage(answers);
  })();
`;

test('requests with large bodies directly behind large responses are answered, each on the same connection', async () => {
  const authority = await createTestAuthority('test CA');
  const tls = await authority.issue('CN=server', ['127.0.0.1']);
  const server = await createListenHttp(createMemoryLog())({ host: '127.0.0.1', port: 0, tls }, answer);
  const requests = 200;
  const client = new Worker(CLIENT, { eval: true, workerData: { port: server.port, ca: authority.caPem, requests } });
  try {
    const [answers] = (await once(client, 'message')) as [string[]];
    assert.deepEqual(
      answers.filter((text) => text !== '100000'),
      [],
    );
    assert.equal(answers.length, requests);
  } finally {
    await client.terminate();
    await server.close(0);
  }
});
