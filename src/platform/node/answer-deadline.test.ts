/** Limits of time of calls over real sockets. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { readAll } from './http-handler-fixture.ts';
import { createNodeNet } from './net.ts';

const net = createNodeNet();
const answers: ServerResponse[] = [];
const server = createServer((_request, response) => {
  response.write('the first half');
  answers.push(response);
});
const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

after(() => {
  net.close();
  server.close();
  server.closeAllConnections();
});

/** Long enough for a head that is sent at once, also on a busy machine. */
const LIMIT_MS = 2000;

test('a body that stops in the middle ends with the time of its call', async () => {
  const headers = { upgrade: 'x' };
  const [answer, refused] = await Promise.all([
    net.http({ method: 'GET', url: url(), timeoutMs: LIMIT_MS }),
    net.upgrade({ method: 'GET', url: url(), headers, timeoutMs: LIMIT_MS }),
  ]);
  assert.equal(answer.status, 200);
  assert.ok('body' in refused);
  await Promise.all([
    assert.rejects(readAll(answer), { code: 'ETIMEDOUT', message: `timed out after ${LIMIT_MS} ms` }),
    assert.rejects(readAll(refused), { code: 'ETIMEDOUT' }),
  ]);
});

test('a limit of the head leaves the body its time', async () => {
  const answer = await net.http({ method: 'GET', url: url(), headTimeoutMs: LIMIT_MS });
  const held = answers.at(-1)!;
  const other = await net.http({ method: 'GET', url: url(), timeoutMs: LIMIT_MS });
  await assert.rejects(readAll(other), { code: 'ETIMEDOUT' });
  held.end(', and the second');
  assert.equal(await readAll(answer), 'the first half, and the second');
});
