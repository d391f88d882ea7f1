/** Server and caller together, over a real socket. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { onAbort } from '../base/abort.ts';
import { createNodeClock } from '../platform/node/clock.ts';
import { createListenRpc } from '../platform/node/rpc-server.ts';
import { createMemoryLog } from '../platform/sim/log.ts';
import { GrpcError, GRPC_CODES } from './grpc-error.ts';
import { frame } from './grpc-frames.ts';
import type { ProtobufTable } from './protobuf-table.ts';
import { createGrpcConnector } from './grpc-connector.ts';
import { createSocketServer, type GrpcHandler } from './socket-server.ts';

const table: ProtobufTable = {
  package: 'talk',
  enums: {},
  messages: { Words: 'text:1:string times:2:int32' },
  services: { Talk: { Say: 'Words Words', Repeat: 'Words stream Words', Forget: 'Words Words' } },
};

async function serve(t: TestContext, methods: Record<string, GrpcHandler>) {
  const directory = await mkdtemp(join(tmpdir(), 'socket-server-'));
  const socketPath = join(directory, 'talk.sock');
  const serveSocket = createSocketServer(createListenRpc(createMemoryLog()), createNodeClock());
  const server = await serveSocket(socketPath, [table], methods);
  const caller = createGrpcConnector(createNodeClock())(socketPath, [table]);
  t.after(async () => {
    caller.disconnect();
    await server.close();
    await rm(directory, { recursive: true });
  });
  return { caller, server, socketPath, serveSocket };
}

const say = { service: 'talk.Talk', method: 'Say' };
const repeat = { service: 'talk.Talk', method: 'Repeat' };

test('answers calls, large ones too, and returns errors', async (t) => {
  const { caller } = await serve(t, {
    'talk.Talk/Say': ({ text }: { text: string }) => {
      if (text === 'no') throw new GrpcError('NotFound', 'nothing of 100% é');
      if (text === 'oops') throw new Error('broken');
      return { text: `${text}!`, times: 1 };
    },
  });
  assert.deepEqual(await caller.unary(say, { text: 'hello' }, {}), { text: 'hello!', times: 1 });
  const long = 'x'.repeat(1_000_000);
  assert.equal(((await caller.unary(say, { text: long }, {})) as { text: string }).text.length, 1_000_001);
  await assert.rejects(caller.unary(say, { text: 'no' }, {}), { code: 'NotFound', detail: 'nothing of 100% é' });
  await assert.rejects(caller.unary(say, { text: 'oops' }, {}), { code: 'Unknown', detail: 'broken' });
  await assert.rejects(caller.unary({ ...say, method: 'Forget' }, {}, {}), { code: 'Unimplemented' });
});

/** A raw call with any bytes; resolves to the status. */
function callByHand(socketPath: string, path: string, pieces: readonly Uint8Array[]): Promise<string> {
  const session = connect('http://localhost', { path: socketPath } as object);
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc' });
  const { promise, resolve } = Promise.withResolvers<string>();
  let status = 'none';
  stream.on('response', (headers) => (status = String(headers['grpc-status'] ?? status)));
  stream.on('trailers', (headers) => (status = String(headers['grpc-status'] ?? status)));
  stream.on('error', () => undefined).resume(); // `close` follows.
  stream.on('close', () => {
    session.destroy();
    resolve(status);
  });
  for (const piece of pieces) stream.write(piece);
  stream.end();
  return promise;
}

const megabytes = (count: number): Uint8Array => Buffer.alloc(count * 1_048_576);
const badCalls = {
  'an unknown method with a body that nobody reads': ['/talk.Talk/None', [megabytes(8)], 'Unimplemented'],
  'an unknown service': ['/x', [], 'Unimplemented'],
  'more than 4 MiB': ['/talk.Talk/Say', [frame(megabytes(8))], 'ResourceExhausted'],
  'a message said to be of four gigabytes': [
    '/talk.Talk/Say',
    [Buffer.from('00ffffffff', 'hex'), megabytes(8)],
    'ResourceExhausted',
  ],
  'a compressed message, and more': ['/talk.Talk/Say', [Buffer.from('0100000000', 'hex'), megabytes(8)], 'Internal'],
  'no message': ['/talk.Talk/Say', [], 'Internal'],
  'a message that is broken off': ['/talk.Talk/Say', [Buffer.from('00000000090a', 'hex')], 'Internal'],
  'bytes that are not the message': ['/talk.Talk/Say', [frame(Buffer.from('0affffffff0f', 'hex'))], 'Internal'],
  'groups within groups': ['/talk.Talk/Say', [frame(Buffer.alloc(1_000_000, 0x2b))], 'Internal'],
} as const;
for (const [what, [path, pieces, code]] of Object.entries(badCalls))
  test(`${what}: the caller gets ${code}, and the next call is answered`, async (t) => {
    const { caller, socketPath } = await serve(t, { 'talk.Talk/Say': ({ text }: { text: string }) => ({ text }) });
    assert.equal(await callByHand(socketPath, path, pieces), String(GRPC_CODES.indexOf(code)));
    assert.deepEqual(await caller.unary(say, { text: 'a' }, {}), { text: 'a', times: 0 });
  });

test('a disconnect while gRPC is being loaded ends the waiting calls, and the next one is made', async (t) => {
  const heard: string[] = [];
  const { caller } = await serve(t, {
    'talk.Talk/Say': ({ text }: { text: string }) => {
      heard.push(text);
      return {};
    },
    'talk.Talk/Repeat': async function* ({ text }: { text: string }) {
      heard.push(text);
      yield {};
    },
  });
  const waiting = [
    caller.unary(say, { text: 'waits' }, {}),
    caller.stream(repeat, { text: 'waits' }, {})[Symbol.asyncIterator]().next(),
  ];
  caller.disconnect();
  await Promise.all(waiting.map((call) => assert.rejects(call, { code: 'Unavailable', sent: false })));
  await caller.unary(say, { text: 'comes after' }, {});
  assert.deepEqual(heard, ['comes after']);
});

test('streams until the server ends it, and notifies the server when the caller disconnects', async (t) => {
  const gone = Promise.withResolvers<void>();
  const { caller } = await serve(t, {
    'talk.Talk/Repeat': async function* ({ text, times }: { text: string; times: number }, signal: AbortSignal) {
      for (let at = 0; at < times; at++) yield { text: `${text} ${at}` };
      if (times > 0) return;
      yield { text: 'for ever' };
      await new Promise<void>((resolve) => onAbort(signal, resolve));
      gone.resolve();
    },
  });
  const texts: string[] = [];
  for await (const message of caller.stream(repeat, { text: 'a', times: 3 }, {}))
    texts.push((message as { text: string }).text);
  assert.deepEqual(texts, ['a 0', 'a 1', 'a 2']);
  const controller = new AbortController();
  await assert.rejects(async () => {
    for await (const _message of caller.stream(repeat, {}, { signal: controller.signal }))
      controller.abort(new Error('enough'));
  }, /enough/);
  await gone.promise;
});

test('replaces a leftover socket; streams end with their server', async (t) => {
  const { caller, server, socketPath, serveSocket } = await serve(t, {
    'talk.Talk/Repeat': async function* (_request: never, signal: AbortSignal) {
      yield { text: 'one' };
      await new Promise<void>((resolve) => onAbort(signal, resolve));
    },
  });
  await assert.rejects(
    async () => {
      for await (const _message of caller.stream(repeat, {}, {})) await server.close();
    },
    { name: 'GrpcError', code: 'Unavailable' },
  );
  const next = await serveSocket(socketPath, [table], { 'talk.Talk/Say': () => ({ text: 'next' }) });
  t.after(() => next.close());
  assert.deepEqual(await caller.unary(say, {}, {}), { text: 'next', times: 0 });
});
