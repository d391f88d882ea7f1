/** Clients of HTTP/2 that break the protocol amid open streams, and go on sending. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { HttpHandler } from '../http.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createTestAuthority } from './certificates-fixture.ts';
import { createListenHttp } from './http-server.ts';
import { loopTurns } from './loop-turns.ts';
import { RAW_HTTP2 } from './raw-http2-fixture.ts';

const CONNECTIONS = 60;
const STREAMS = 40;

/** Opens streams, sends endless bodies, breaks the protocol on request. Reports when all have begun, and ended. */
const CLIENT = `
  const { parentPort, workerData: { port, ca } } = require('node:worker_threads');
  const tls = require('node:tls');
  ${RAW_HTTP2}
  const piece = Buffer.concat(Array.from({ length: 64 }, () => data(1, 1000)));
  const breaks = [];
  let open = 0;
  for (let at = 0; at < ${CONNECTIONS}; at++) {
    const socket = tls.connect({ port, host: '127.0.0.1', ca, ALPNProtocols: ['h2'] });
    open++;
    socket.on('error', () => undefined).resume();
    socket.once('close', () => --open === 0 && parentPort.postMessage('all ended'));
    const frames = [start, post(1)];
    for (let stream = 1; stream < ${STREAMS}; stream++) frames.push(get(2 * stream + 1));
    socket.write(Buffer.concat(frames));
    const more = () => {
      while (!socket.destroyed && socket.write(piece));
    };
    socket.on('drain', more);
    breaks.push((bytes) => {
      socket.write(bytes);
      more();
    });
  }
  parentPort.on('message', (how) => {
    for (const breakIt of breaks) breakIt(brokenFrames[how]);
  });
`;

/** All the time that there is in one turn of the loop. */
function takeATurn(): void {
  const startMs = performance.now();
  while (performance.now() - startMs < 5);
}

for (const how of ['send data for no stream', 'leave with an error'])
  test(`clients that ${how} and go on sending end alone, with all their streams`, async () => {
    const authority = await createTestAuthority('test CA');
    const tls = await authority.issue('CN=server', ['127.0.0.1']);
    const log = createMemoryLog();
    const begun = Promise.withResolvers<void>();
    let [open, all] = [0, 0];
    const serve: HttpHandler = async (request) => {
      open++;
      if (++all === CONNECTIONS * STREAMS) begun.resolve();
      request.signal.addEventListener('abort', () => open--);
      if (request.method !== 'POST') return new Promise(() => undefined);
      for await (const piece of request.bodyStream()) assert.ok(piece.length > 0);
      return { kind: 'bytes', status: 200, headers: {}, chunks: [] };
    };
    const server = await createListenHttp(log)({ host: '127.0.0.1', port: 0, tls }, serve);
    const client = new Worker(CLIENT, { eval: true, workerData: { port: server.port, ca: authority.caPem } });
    await begun.promise;
    const work = Array.from({ length: 60 }, () => loopTurns.yield('others').then(takeATurn));
    client.postMessage(how);
    await once(client, 'message');
    await Promise.all(work);
    await server.close(0);
    await client.terminate();
    assert.equal(open, 0);
    assert.deepEqual(
      log.entries.filter(({ level }) => level === 'error'),
      [],
    );
  });
