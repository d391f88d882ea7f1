/** Calls over a real unix socket: behaviour that needs a real connection. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ClientHttp2Stream, type ServerHttp2Session } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createNodeClock } from '../platform/node/clock.ts';
import { hostilePeers } from './hostile-peers-fixture.ts';
import { createGrpcCaller } from './grpc-caller.ts';
import type { ProtobufTable } from './protobuf-table.ts';

const table: ProtobufTable = {
  package: 'test',
  enums: {},
  messages: { Empty: '' },
  services: { Service: { Do: 'Empty Empty' } },
};

test('a connection closed by both ends at once ends no process', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'keelson-grpc-'));
  t.after(() => rm(directory, { recursive: true }));
  const socketPath = join(directory, 'socket');
  const server = createServer();
  const serving: ServerHttp2Session[] = [];
  server.on('session', (session) => void serving.push(session));
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.from([0, 0, 0, 0, 0]));
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  t.after(() => {
    for (const session of serving) session.destroy();
    server.close();
  });
  const clock = createNodeClock();
  const caller = createGrpcCaller({ clock }, { target: { socketPath }, tables: [table] });
  const closed = Promise.withResolvers<void>();
  const created = (message: unknown): void => {
    const { session } = (message as { stream: ClientHttp2Stream }).stream;
    if (session === undefined) return closed.reject(new Error('a stream without a session'));
    session.on('goaway', () => queueMicrotask(() => caller.disconnect()));
    session.on('close', () => closed.resolve());
  };
  subscribe('http2.client.stream.created', created);
  t.after(() => unsubscribe('http2.client.stream.created', created));
  assert.deepEqual(await caller.unary({ service: 'test.Service', method: 'Do' }, {}, { timeoutMs: 100_000 }), {});
  assert.equal(serving.length, 1);
  serving[0]!.goaway();
  await closed.promise;
  await clock.yield();
});

const paths = {
  'an empty path': '',
  'a path with a zero byte': '/tmp/a\0b',
  'a path that begins with a zero byte': '\0abstract',
  'a path of 107 bytes': `/tmp/${'a'.repeat(102)}`,
  'a path of 108 bytes': `/tmp/${'a'.repeat(103)}`,
  'a path of 4,000 bytes': `/tmp/${'é'.repeat(2000)}`,
  'a directory': tmpdir(),
  'a file that is no socket': import.meta.filename,
  'a name with a slash at its end': `${import.meta.filename}/`,
};
for (const [what, socketPath] of Object.entries(paths))
  test(`${what} ends the call as unavailable, and the process turns on`, async () => {
    const clock = createNodeClock();
    const caller = createGrpcCaller({ clock }, { target: { socketPath }, tables: [table] });
    const call = caller.unary({ service: 'test.Service', method: 'Do' }, {}, { timeoutMs: 100_000 });
    await assert.rejects(call, { code: 'Unavailable', sent: false });
  });

for (const [what, behave] of Object.entries(hostilePeers))
  test(`a peer that ${what} ends the call alone, within its deadline and limit`, async (t) => {
    const directory = await mkdtemp(join(tmpdir(), 'keelson-grpc-'));
    t.after(() => rm(directory, { recursive: true }));
    const socketPath = join(directory, 'socket');
    const server = createServer();
    const serving = new Set<ServerHttp2Session>();
    server.on('session', (session) => void serving.add(session.on('error', () => undefined)));
    let asked = 0;
    server.on('stream', (stream) => {
      stream.on('error', () => undefined);
      if (asked++ === 0) return behave(stream);
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.end(Buffer.from([0, 0, 0, 0, 0]));
    });
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
    t.after(() => {
      for (const session of serving) session.destroy();
      server.close();
    });
    const limits = { target: { socketPath }, tables: [table], maxMessageBytes: 1024 * 1024 };
    const caller = createGrpcCaller({ clock: createNodeClock() }, limits);
    const method = { service: 'test.Service', method: 'Do' };
    const timeoutMs = what === 'never answers' ? 100 : 100_000;
    await assert.rejects(caller.unary(method, {}, { timeoutMs }), { name: 'GrpcError' });
    assert.deepEqual(await caller.unary(method, {}, { timeoutMs: 100_000 }), {});
    caller.disconnect();
  });
