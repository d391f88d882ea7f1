/** The lifetime of connections that request to switch protocols: refused ones, and joined ones whose other side has vanished. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { afterEach, test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { atEnd, endAll, get, route, startBackend, startPlane, turn } from './data-plane-fixture.ts';
import { joinConnections } from './join-connections.ts';
import { createPlaneLimits } from './plane-limits.ts';

afterEach(endAll);

const HEAD = 'GET /x HTTP/1.1\r\nhost: a\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n';
const SWITCHED = 'HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n';

/** A client that requests to switch and never ends its side. */
function ask(port: number): Socket {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.on('error', () => undefined);
  atEnd(() => socket.destroy());
  socket.write(HEAD);
  return socket;
}

async function turns(count = 50): Promise<void> {
  for (let at = 0; at < count; at++) await turn();
}

test('refused clients release their share although they keep their side open', async () => {
  const plane = await startPlane(undefined, createPlaneLimits({ total: 16 }));
  const b = await startBackend((message, response) => {
    response.statusCode = message.url === '/x' ? 403 : 200;
    response.end('answered');
  });
  const none = { backends: [], emptyStatus: 503 } as const;
  for (const routes of [[route()], [route({ ...none, match: { path: { type: 'exact', value: '/x' } } }), route()]]) {
    await plane.serve(routes, { b });
    for (let count = 0; count < 6; count++) {
      const socket = ask(plane.port);
      let text = '';
      for await (const chunk of socket) text += String(chunk);
      assert.match(text, /^HTTP\/1\.1 (403 [^]*answered|503 [^]*\n)$/);
      // The plane is not notified of an end.
      await turns();
      assert.equal((await get(plane.port, '/')).status, 200);
    }
  }
});

test("a client that does not read a refusing backend's response is disconnected after a minute", async () => {
  const clock = new VirtualClock();
  const plane = await startPlane(clock);
  let isGone = false;
  const b = await startBackend((_message, response) => {
    response.statusCode = 403;
    response.write(Buffer.alloc(32 * 1024 * 1024));
    response.on('close', () => (isGone = true));
  });
  await plane.serve([route()], { b });
  const arrived = once(b.server, 'request');
  ask(plane.port).pause();
  await arrived;
  while (!isGone) {
    await turns(10);
    await clock.advance(10_000);
  }
});

test('TCP keep-alive detects vanished peers of a switched connection', async (context) => {
  const keepAlive = context.mock.method(Socket.prototype, 'setKeepAlive');
  const plane = await startPlane();
  const b = await startBackend(() => assert.fail('no plain request'));
  b.server.on('upgrade', (_message, socket: Socket) => {
    socket.write(SWITCHED);
    socket.resume();
  });
  await plane.serve([route()], { b });
  await once(ask(plane.port), 'data');
  const calls = keepAlive.mock.calls.filter(({ arguments: [isOn, ms] }) => isOn === true && ms === 60_000);
  assert.equal(new Set(calls.map((call) => call.this)).size, 2);
});

/** A connection whose peer reads nothing. */
class Stuck extends Duplex {
  override _read(): void {}
  override _write(_chunk: Buffer, _encoding: BufferEncoding, _callback: () => void): void {}
  setKeepAlive(): this {
    return this;
  }
}

/** A connection that ends on both sides at once. */
class Ending extends Stuck {
  override _write(_chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    callback();
  }
}

test('bytes that one side of a joined connection does not read are dropped ten seconds after the other has closed', async () => {
  const clock = new VirtualClock();
  const [client, backend] = [new Stuck(), new Ending()];
  joinConnections(client, backend, clock);
  backend.push('last');
  backend.push(null);
  await once(backend, 'end');
  backend.end();
  await once(backend, 'close');
  assert.deepEqual([client.writableEnded, client.writableFinished, client.destroyed], [true, false, false]);
  await clock.advance(9_999);
  assert.equal(client.destroyed, false);
  await clock.advance(1);
  assert.equal(client.destroyed, true);
});
