/** Watches and logs over WebSockets, over connections in memory. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '../../api/transport.ts';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { startTestServer } from '../server-fixture.ts';
import type { Duplex } from '../../platform/streams.ts';
import { logMessages, overWebSocket, wantsWebSocket, watchMessages, type MessageForm } from './websocket-stream.ts';

const asking = (protocols?: string, change: Partial<ApiRequest> = {}): ApiRequest => ({
  method: 'GET',
  path: '/',
  query: '',
  headers: {
    connection: 'keep-alive, Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...(protocols !== undefined && { 'sec-websocket-protocol': protocols }),
  },
  remoteAddress: '1.2.3.4',
  wantsObjects: false,
  wantsUpgrade: true,
  body: { kind: 'none' },
  signal: new AbortController().signal,
  ...change,
});

const deps = { crypto: { webcrypto: crypto }, clock: new VirtualClock() };

/** Head and messages of a response with these chunks, and whether it was disposed of. */
async function received(request: ApiRequest, form: MessageForm, pieces: readonly string[]) {
  const [client, server] = createDuplexPair();
  let disposed = false;
  const answer = overWebSocket({ ...deps, request }, form, {
    async run(sink) {
      for (const piece of pieces) await sink.write(Buffer.from(piece, 'latin1'));
    },
    dispose: () => void (disposed = true),
  });
  assert.equal(answer.kind, 'upgrade');
  if (answer.kind === 'upgrade') void answer.accept(server);
  const all = await readAll(client);
  const end = all.indexOf('\r\n\r\n') + 4;
  return { head: all.subarray(0, end).toString(), frames: framesOf(all.subarray(end)), disposed };
}

async function readAll(socket: Duplex): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of socket.incoming) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function framesOf(bytes: Buffer): [opcode: number, payload: string][] {
  const frames: [number, string][] = [];
  for (let at = 0; at < bytes.length;) {
    const length = bytes[at + 1]!;
    frames.push([bytes[at]! & 15, bytes.toString('latin1', at + 2, at + 2 + length)]);
    at += 2 + length;
  }
  return frames;
}

const closed = [8, '\u0003\u00e8'];

test('requests for a WebSocket', () => {
  assert.equal(wantsWebSocket(asking()), true);
  assert.equal(wantsWebSocket(asking(undefined, { wantsUpgrade: false })), false);
  assert.equal(wantsWebSocket(asking(undefined, { method: 'POST' })), false);
  assert.equal(wantsWebSocket(asking(undefined, { headers: { connection: 'upgrade', upgrade: 'SPDY/3.1' } })), false);
});

test('a watch is a text per event, with the protocol that was offered beside a token', async () => {
  const request = asking('base64url.bearer.authorization.k8s.io.dA, base64.binary.k8s.io');
  const pieces = ['{"type":"ADDED"}\n{"type":"MODIFIED"}\n', '{"type":"DELETED"}\n'];
  const { head, frames, disposed } = await received(request, watchMessages(request, false), pieces);
  assert.match(head, /^HTTP\/1\.1 101 [^]*Sec-WebSocket-Protocol: base64\.binary\.k8s\.io\r\n\r\n$/);
  assert.deepEqual(frames, [
    [1, '{"type":"ADDED"}\n'],
    [1, '{"type":"MODIFIED"}\n'],
    [1, '{"type":"DELETED"}\n'],
    closed,
  ]);
  assert.equal(disposed, false);
});

test('a watch in protobuf is a binary message per event, without the length before it', async () => {
  const { head, frames } = await received(asking(), watchMessages(asking(), true), ['\0\0\0\x02ab\0\0\0\x01c']);
  assert.doesNotMatch(head, /WebSocket-Protocol/);
  assert.deepEqual(frames, [[2, 'ab'], [2, 'c'], closed]);
});

test('a log begins with an empty message, and is sent raw or in base64', async () => {
  for (const [protocols, opcode, text] of [
    [undefined, 2, 'hello'],
    ['v9, binary.k8s.io', 2, 'hello'],
    ['base64.binary.k8s.io', 1, 'aGVsbG8='],
  ] as const) {
    const request = asking(protocols);
    const { frames } = await received(request, logMessages(request)!, ['hello']);
    assert.deepEqual(frames, [[opcode, ''], [opcode, text], closed]);
  }
  assert.equal(logMessages(asking('v9')), undefined);
});

test('the server sends a watch over a WebSocket', async () => {
  const { server, request } = await startTestServer();
  const { headers, wantsUpgrade } = asking();
  const answer = await server.handler(
    request('GET', '/api/v1/namespaces/a/configmaps?watch=true&timeoutSeconds=1', { headers, wantsUpgrade }),
  );
  assert.equal(answer.kind, 'upgrade');
});

const close = Buffer.from([0x88, 0x80, 0, 0, 0, 0]);

test('no frame follows our answer to the close frame of a client, and its connection ends', async () => {
  const [client, server] = createDuplexPair();
  const closing = Promise.withResolvers<void>();
  let late: Promise<void> | undefined;
  const slow: Duplex = {
    ...server,
    async write(chunk) {
      await server.write(chunk);
      if (typeof chunk === 'string' || chunk[0] !== 0x88) return;
      closing.resolve();
      await late?.catch(() => undefined);
    },
  };
  let disposed = 0;
  const answer = overWebSocket({ ...deps, request: asking() }, watchMessages(asking(), false), {
    async run(sink) {
      await sink.write('one\n');
      late = closing.promise.then(() => sink.write('late\n'));
      await assert.rejects(late, /has closed its WebSocket/);
    },
    dispose: () => void disposed++,
  });
  const accepted = answer.kind === 'upgrade' && answer.accept(slow);
  await client.write(close);
  const chunks: Uint8Array[] = [];
  const reading = (async () => {
    for await (const chunk of client.incoming) chunks.push(chunk);
  })();
  await assert.rejects(reading, { code: 'ECONNRESET' });
  const all = Buffer.concat(chunks);
  assert.deepEqual(framesOf(all.subarray(all.indexOf('\r\n\r\n') + 4)), [[1, 'one\n'], closed]);
  await accepted;
  await server.closed;
  assert.equal(disposed, 1);
});

test('a client that closes and reads nothing is dropped after a second', async () => {
  const [client, server] = createDuplexPair();
  const clock = new VirtualClock();
  const full = Promise.withResolvers<void>();
  const answer = overWebSocket({ ...deps, clock, request: asking() }, watchMessages(asking(), false), {
    async run(sink) {
      for (let count = 0; ; count++) {
        if (count === 15) full.resolve(); // with the head as many chunks as wait for a reader
        await sink.write('more\n');
      }
    },
    dispose: () => undefined,
  });
  const accepted = answer.kind === 'upgrade' ? answer.accept(server) : undefined;
  await full.promise;
  await client.write(close);
  await clock.drive(accepted!);
  await server.closed;
  assert.equal(clock.monotonicMs(), 1000);
});

test('without a key there is no WebSocket, and nothing is left behind', () => {
  let disposed = false;
  const request = asking(undefined, { headers: { connection: 'upgrade', upgrade: 'websocket' } });
  const answer = { run: () => Promise.resolve(), dispose: () => void (disposed = true) };
  assert.throws(
    () => overWebSocket({ ...deps, request }, watchMessages(request, false), answer),
    /missing Sec-WebSocket-Key/,
  );
  assert.equal(disposed, true);
});
