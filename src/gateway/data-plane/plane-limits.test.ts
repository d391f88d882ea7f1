/** Limits of one client: pipelined requests, requests in progress, and mirrored requests without a response. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { afterEach, test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { atEnd, endAll, get, raw, route, startBackend, startPlane, turn } from './data-plane-fixture.ts';
import { createPlaneLimits } from './plane-limits.ts';

afterEach(endAll);

test('pipelined requests reach the backend one after the other', async () => {
  const plane = await startPlane();
  let [underWay, most] = [0, 0];
  const b = await startBackend((message, response) => {
    most = Math.max(most, ++underWay);
    const answer = async (): Promise<void> => {
      for (let count = 0; count < 20; count++) await turn();
      underWay--;
      response.end(message.url);
    };
    void answer();
  });
  await plane.serve([route()], { b });
  const requests = Array.from({ length: 50 }, (_, at) => `GET /${at}- HTTP/1.1\r\nhost: a\r\n\r\n`).join('');
  const text = await raw(plane.port, `${requests}GET /last HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
  assert.deepEqual(
    [...text.matchAll(/^\/(\d+)-/gm)].map(([, at]) => Number(at)),
    Array.from({ length: 50 }, (_, at) => at),
  );
  assert.match(text, /\/last$/);
  assert.equal(most, 1);
});

test('requests of one address beyond its share are refused until others end', async () => {
  const plane = await startPlane(undefined, createPlaneLimits({ total: 16 }));
  const held: ServerResponse[] = [];
  const b = await startBackend((message, response) => {
    if (message.url === '/hold') held.push(response);
    else response.end('ok');
  });
  await plane.serve([route()], { b });
  const [one, two] = [get(plane.port, '/hold'), get(plane.port, '/hold')];
  while (held.length < 2) await turn();
  assert.equal((await get(plane.port, '/')).status, 503);
  const head = 'GET /hold HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n';
  assert.match(await raw(plane.port, head), /^HTTP\/1\.1 503 /);
  for (const response of held) response.end();
  await Promise.all([one, two]);
  assert.equal((await get(plane.port, '/')).status, 200);
});

test('a client that disconnects releases its share', async () => {
  const plane = await startPlane(undefined, createPlaneLimits({ total: 8 }));
  const b = await startBackend((message, response) => {
    if (message.url !== '/hold') response.end('ok');
  });
  await plane.serve([route()], { b });
  for (let count = 0; count < 5; count++) {
    const arrived = once(b.server, 'request');
    const socket = connect({ host: '127.0.0.1', port: plane.port });
    socket.write('GET /hold HTTP/1.1\r\nhost: a\r\n\r\n');
    await arrived;
    socket.destroy();
    let status = 503;
    while (status === 503) ({ status } = await get(plane.port, '/'));
    assert.equal(status, 200);
  }
});

test('a mirrored request without a response is aborted after a minute', async () => {
  const clock = new VirtualClock();
  const plane = await startPlane(clock);
  const b = await startBackend((_message, response) => response.end('main'));
  const m = await startBackend(() => undefined);
  let isGone = false;
  m.server.on('connection', (socket) => {
    socket.on('close', () => (isGone = true));
    atEnd(() => socket.destroy());
  });
  const arrived = once(m.server, 'request');
  await plane.serve([route({ filters: { mirrors: [{ backend: 'm', numerator: 1, denominator: 1 }] } })], { b, m });
  assert.equal((await get(plane.port, '/')).body, 'main');
  await arrived;
  await clock.advance(59_999);
  for (let count = 0; count < 20; count++) await turn();
  assert.equal(isGone, false);
  await clock.advance(1);
  while (!isGone) await turn();
});
