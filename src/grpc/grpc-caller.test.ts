/** Calls over a real unix socket: what only a real connection can do. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ClientHttp2Stream, type ServerHttp2Session } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createNodeClock } from '../platform/node/clock.ts';
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
