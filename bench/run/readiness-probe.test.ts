import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { readinessProbe } from './readiness-probe.ts';

/** The results of three probes of a server with this handler. */
async function asked(answer: RequestListener): Promise<readonly boolean[]> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const probe = readinessProbe(`http://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`);
  try {
    return [await probe.ready(), await probe.ready(), await probe.ready()];
  } finally {
    probe.close();
    await new Promise((resolve) => server.close(resolve));
  }
}

test('a server is ready from its first 200 on', async () => {
  assert.deepEqual(await asked((_request, response) => response.end('ok')), [true, true, true]);
  let before = 2;
  const late: RequestListener = (_request, response) => response.writeHead(before-- > 0 ? 500 : 200).end('text');
  assert.deepEqual(await asked(late), [false, false, true]);
});

test('a server that refuses, or cuts responses off, is not ready', async () => {
  assert.deepEqual(await asked((request) => request.socket.destroy()), [false, false, false]);
  const half: RequestListener = (_request, response) => {
    response.writeHead(200, { 'content-length': '10' });
    response.write('half', () => response.destroy());
  };
  assert.deepEqual(await asked(half), [false, false, false]);
  assert.equal(await readinessProbe('http://127.0.0.1:1/readyz').ready(), false);
});
