/** Connections that end at one instant: how many of their streams end in one turn of the loop. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { test } from 'node:test';
import { createServer } from 'node:tls';
import { Worker } from 'node:worker_threads';
import type { HttpHandler, HttpResponse } from '../http.ts';
import type { Duplex } from '../streams.ts';
import { createMemoryLog } from '../sim/log.ts';
import { AnswerFailures } from './answer-failures.ts';
import { createTestAuthority } from './certificates-fixture.ts';
import { endInTurns, type EndingSocket } from './end-in-turns.ts';
import { handler } from './http-handler-fixture.ts';
import { createListenHttp } from './http-server.ts';
import { Http2Connections } from './http2-connections.ts';
import { loopTurns } from './loop-turns.ts';
import { RAW_HTTP2 } from './raw-http2-fixture.ts';
import { UnsentAnswers } from './unsent-answers.ts';

const CONNECTIONS = 20;
const STREAMS = 100;
const ALL = CONNECTIONS * STREAMS;
/** More than the work that fits into the time limit of a turn. */
const MOST_IN_A_TURN = ALL / 2;

/** Holds requests open on HTTP/2 connections until a message says how to end them all. */
const CLIENT = `
  const { parentPort, workerData: { port, ca } } = require('node:worker_threads');
  const net = require('node:net');
  const tls = require('node:tls');
  ${RAW_HTTP2}
  const endings = {
    'break off': ({ socket }) => socket.destroy(),
    'reset their connections': ({ socket }) => socket.resetAndDestroy(),
  };
  const connections = [];
  for (let at = 0; at < ${CONNECTIONS}; at++) {
    const socket = net.connect(port, '127.0.0.1');
    const encrypted = tls.connect({ socket, host: '127.0.0.1', ca, ALPNProtocols: ['h2'] });
    connections.push({ socket, encrypted });
    encrypted.on('error', () => undefined).resume();
    const frames = [start];
    for (let stream = 0; stream < ${STREAMS}; stream++) frames.push(get(2 * stream + 1));
    encrypted.write(Buffer.concat(frames));
  }
  parentPort.on('message', (how) => {
    const end = endings[how] ?? (({ encrypted }) => encrypted.write(brokenFrames[how]));
    connections.forEach(end);
  });
`;

for (const how of ['break off', 'reset their connections', 'send data for no stream', 'leave with an error'])
  test(`streams of many connections end in many turns when clients ${how}`, async () => {
    const tls = await createTestAuthority('test CA');
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const endsByTurn = [0];
    let open = 0;
    const onEnd = (): void => {
      endsByTurn.push(endsByTurn.pop()! + 1);
      if (--open === 0) ended.resolve();
    };
    const options = { host: '127.0.0.1', port: 0, tls: await tls.issue('CN=server', ['127.0.0.1']) };
    const server = await createListenHttp(createMemoryLog())(options, ({ signal }) => {
      signal.addEventListener('abort', onEnd);
      if (++open === ALL) begun.resolve();
      return new Promise(() => undefined);
    });
    const client = new Worker(CLIENT, { eval: true, workerData: { port: server.port, ca: tls.caPem } });
    await begun.promise;
    const countTurns = (): void => {
      endsByTurn.push(0);
      if (open > 0) setImmediate(countTurns);
    };
    setImmediate(countTurns);
    client.postMessage(how);
    await ended.promise;
    await client.terminate();
    await server.close(0);
    const most = Math.max(...endsByTurn);
    assert.ok(most <= MOST_IN_A_TURN, `${most} of ${ALL} streams ended in one turn`);
  });

/** Connections that never stop sending: upgraded ones of HTTP/1.1, and bodies of HTTP/2 streams. Reports when all have begun. */
const SENDERS = `
  const { parentPort, workerData: { port, ca } } = require('node:worker_threads');
  const http2 = require('node:http2');
  const tls = require('node:tls');
  const data = Buffer.alloc(64 * 1024);
  let silent = 2 * 60;
  const flood = (stream) => {
    if (--silent === 0) parentPort.postMessage('all send');
    const more = () => {
      while (!stream.destroyed && stream.write(data));
    };
    stream.on('drain', more).on('error', () => undefined).resume();
    more();
  };
  for (let at = 0; at < 60; at++) {
    const socket = tls.connect({ host: '127.0.0.1', port, ca });
    socket.on('error', () => undefined);
    socket.write('GET /upgrade HTTP/1.1\\r\\nHost: a\\r\\nConnection: Upgrade\\r\\nUpgrade: echo\\r\\n\\r\\n');
    socket.once('data', () => flood(socket));
    const session = http2.connect('https://127.0.0.1:' + port, { ca });
    session.on('error', () => undefined);
    session.once('remoteSettings', () => {
      for (let stream = 1; stream < 20; stream++) session.request({ ':path': '/hang' }).on('error', () => undefined);
      flood(session.request({ ':path': '/sink', ':method': 'POST' }));
    });
  }
`;

/** All the time that there is in one turn of the loop. */
function takeATurn(): void {
  const startMs = performance.now();
  while (performance.now() - startMs < 5);
}

/** Reads until the connection ends. */
function switchTo(onSocket: (socket: Duplex) => void): HttpResponse {
  return {
    kind: 'upgrade',
    async accept(socket) {
      onSocket(socket);
      await socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n');
      for await (const piece of socket.incoming) assert.ok(piece.length > 0);
    },
  };
}

test('the server ends connections that are still sending, while others have work', async () => {
  const authority = await createTestAuthority('test CA');
  const tls = await authority.issue('CN=server', ['127.0.0.1']);
  const switched: Duplex[] = [];
  const serve: HttpHandler = async (request) => {
    if (request.path === '/upgrade') return switchTo((socket) => switched.push(socket));
    if (request.path !== '/sink') return handler(request);
    for await (const piece of request.bodyStream()) assert.ok(piece.length > 0);
    return { kind: 'bytes', status: 200, headers: {}, chunks: [] };
  };
  const log = createMemoryLog();
  const limits = { total: 1000, ofOneAddress: 1000 };
  const server = await createListenHttp(log, limits)({ host: '127.0.0.1', port: 0, tls }, serve);
  const client = new Worker(SENDERS, { eval: true, workerData: { port: server.port, ca: authority.caPem } });
  await once(client, 'message');
  const work = Array.from({ length: 60 }, () => loopTurns.yield('others').then(takeATurn));
  for (const socket of switched) socket.destroy();
  await Promise.all(work);
  await server.close(0);
  await client.terminate();
});

test('streams that begin on a connection that is being destroyed end with its error, which is not reported elsewhere', async () => {
  const authority = await createTestAuthority('test CA');
  const { certPem, keyPem } = await authority.issue('CN=server', ['127.0.0.1']);
  const ended = Promise.withResolvers<void>();
  const server = createServer({ cert: certPem, key: keyPem, ALPNProtocols: ['h2'] }, (socket) => {
    const serve: HttpHandler = () => {
      socket.destroy(new Error('a record of TLS is broken'));
      return new Promise(() => undefined);
    };
    socket.once('close', ended.resolve);
    new Http2Connections(serve, new AnswerFailures(createMemoryLog()), new UnsentAnswers()).start(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const client = connect(`https://127.0.0.1:${port}`, { ca: authority.caPem });
  client.on('error', () => undefined);
  await once(client, 'remoteSettings');
  // All in one piece.
  for (let count = 0; count < 20; count++) client.request({ ':path': '/' }).on('error', () => undefined);
  await ended.promise;
  client.destroy();
  server.close();
  await once(server, 'close');
});

/** A session that is not destroyed. */
const idle = { destroy: () => undefined, goaway: () => undefined, once: () => undefined };

/** Turns that a test lets begin. */
function manualTurns() {
  const waiting: (() => void)[] = [];
  const next = (): Promise<void> => new Promise((resolve) => waiting.push(resolve));
  return {
    turns: { yield: next },
    async turn(): Promise<void> {
      waiting.shift()?.();
      await new Promise(setImmediate);
    },
  };
}

test('a connection ends once all its streams have', async () => {
  const { turns, turn } = manualTurns();
  const ends: string[] = [];
  const socket = { destroy: () => undefined, _destroy: () => void ends.push('connection') };
  const streams = Array.from({ length: 40 }, () => ({ destroy: () => ends.push('stream') }));
  endInTurns({ session: idle, socket }, new Set(streams), turns);
  (socket._destroy as (error: null, callback: () => void) => void)(null, () => undefined);
  const counts: number[] = [];
  for (let count = 0; count < 4; count++) {
    await turn();
    counts.push(ends.length);
  }
  assert.deepEqual([counts, ends.at(-1)], [[32, 40, 41, 41], 'connection']);
});

test('the error of an end is reported to the caller that destroyed the connection', async () => {
  const { turns, turn } = manualTurns();
  const failure = new Error('no handle');
  const socket: Required<Pick<EndingSocket, 'destroy' | '_destroy'>> = {
    destroy: () => undefined,
    _destroy: () => {
      throw failure;
    },
  };
  endInTurns({ session: idle, socket }, new Set([{ destroy: () => undefined }]), turns);
  const told = new Promise((resolve) => socket._destroy(null, resolve));
  await turn();
  await turn();
  assert.equal(await told, failure);
});
