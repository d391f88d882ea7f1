/** Clients that do not read their responses hold neither memory nor a share of requests for long. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect as connectHttp2, type ClientHttp2Stream } from 'node:http2';
import { connect } from 'node:net';
import { afterEach, test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { atEnd, endAll, get, route, startBackend, startPlane, turn } from './data-plane-fixture.ts';
import { createPlaneLimits } from './plane-limits.ts';
import { HELD_BYTES, StalledBodies } from './stalled-bodies.ts';

afterEach(endAll);

/** An HTTP/2 client with a flow-control window of zero. */
function requestWithoutWindow(port: number, path: string): ClientHttp2Stream {
  const session = connectHttp2(`http://127.0.0.1:${port}`, { settings: { initialWindowSize: 0 } });
  atEnd(() => session.destroy());
  const stream = session.on('error', () => undefined).request({ ':path': path });
  return stream.on('error', () => undefined);
}

test('a response that a client does not read releases its share after a minute, also a response of the gateway itself', async () => {
  const clock = new VirtualClock();
  const plane = await startPlane(clock, createPlaneLimits({ total: 8 }));
  const b = await startBackend((_message, response) => response.end('short'));
  await plane.serve([route({ path: { type: 'prefix', value: '/web' } })], { b });
  for (const path of ['/web', '/none']) {
    await once(requestWithoutWindow(plane.port, path), 'response');
    assert.equal((await get(plane.port, '/web')).status, 503);
    await clock.advance(60_000);
    let status = 503;
    while (status === 503) {
      await turn();
      ({ status } = await get(plane.port, '/web'));
    }
    assert.equal(status, 200);
  }
});

test('when unread bodies hold too much memory, those that have waited longest are ended', async () => {
  const clock = new VirtualClock();
  const stalled = new StalledBodies(clock, { totalBytes: 2 * HELD_BYTES, stalledMs: 2000, stillMs: 60_000 });
  const plane = await startPlane(clock, undefined, stalled);
  const ended: string[] = [];
  const b = await startBackend((message, response: ServerResponse) => {
    const piece = Buffer.alloc(64 * 1024);
    const write = (): void => {
      while (!response.destroyed && response.write(piece));
    };
    response.on('drain', write).on('close', () => ended.push(message.url ?? ''));
    write();
  });
  await plane.serve([route()], { b });
  const socket = connect({ host: '127.0.0.1', port: plane.port });
  atEnd(() => socket.destroy());
  await once(socket.pause(), 'connect');
  socket.write('GET /1 HTTP/1.1\r\nhost: a\r\n\r\n');
  await waitFor(() => stalled.bytes === HELD_BYTES);
  await clock.advance(1);
  for (const path of ['/2', '/3']) await once(requestWithoutWindow(plane.port, path), 'response');
  await waitFor(() => stalled.bytes === 3 * HELD_BYTES);
  await clock.advance(3000);
  await waitFor(() => ended.length > 0);
  assert.deepEqual([ended, stalled.bytes], [['/1'], 2 * HELD_BYTES]);
});

async function waitFor(isSo: () => boolean): Promise<void> {
  while (!isSo()) await turn();
}
