/**
 * Many connections that send many requests at the same instant: all get a response or are refused, and other clients are served
 * meanwhile.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import type { HttpResponse } from '../http.ts';
import { createMemoryLog } from '../sim/log.ts';
import { createTestAuthority } from './certificates-fixture.ts';
import { createListenHttp } from './http-server.ts';
import { readThrottle } from './read-throttle.ts';

/** Pipelines on TLS connections, then one request on each that is still open. Counts responses and closed connections. */
const PIPELINES = `
  const { parentPort, workerData: { port, ca, connections, requests } } = require('node:worker_threads');
  const tls = require('node:tls');
  const { once } = require('node:events');
  const open = async () => {
    const socket = tls.connect({ host: '127.0.0.1', port, ca });
    await once(socket, 'secureConnect');
    return socket;
  };
  const text = Buffer.from('GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n'.repeat(requests));
  const ask = (socket) => new Promise((resolve) => {
    let answers = 0;
    socket.on('data', (data) => {
      answers += data.toString().split('HTTP/1.1 200').length - 1;
      if (answers === requests) resolve('answered');
    });
    socket.on('error', () => undefined).on('close', () => resolve('ended'));
    socket.write(text);
  });
  (async () => {
    const sockets = [];
    for (let at = 0; at < connections; at++) sockets.push(await open());
    const results = await Promise.all(sockets.map(ask));
    for (const socket of sockets) socket.destroy();
    parentPort.postMessage(results);
  })();
`;

/** Streams of HTTP/2 on many connections, each with a head that compression makes small. */
const STREAMS = `
  const { parentPort, workerData: { port, ca, connections, requests } } = require('node:worker_threads');
  const http2 = require('node:http2');
  const { once } = require('node:events');
  const headers = { ':path': '/' };
  for (let at = 0; at < 15; at++) headers['x-' + at] = 'v'.repeat(2000);
  const ask = (session) => new Promise((resolve) => {
    const stream = session.request(headers);
    let status = 'nothing';
    stream.on('response', (head) => (status = head[':status'] === 200 ? 'answered' : 'other'));
    stream.on('error', () => undefined).resume();
    stream.on('close', () => resolve(stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM ? 'ended' : status));
  });
  (async () => {
    const sessions = [];
    for (let at = 0; at < connections; at++) {
      const session = http2.connect('https://127.0.0.1:' + port, { ca });
      session.on('error', () => undefined);
      await once(session, 'remoteSettings');
      sessions.push(session);
    }
    const results = await Promise.all(sessions.flatMap((session) => Array.from({ length: requests }, () => ask(session))));
    for (const session of sessions) session.destroy();
    parentPort.postMessage(results);
  })();
`;

async function crowd(program: string, numbers: { readonly connections: number; readonly requests: number }) {
  const authority = await createTestAuthority('test CA');
  const tls = await authority.issue('CN=server', ['127.0.0.1']);
  let mostHeld = 0;
  const answer = (): HttpResponse => {
    mostHeld = Math.max(mostHeld, readThrottle.paused);
    return { kind: 'bytes', status: 200, headers: {}, chunks: [Buffer.from('ok')] };
  };
  const limits = { total: 1000, ofOneAddress: 1000 };
  const server = await createListenHttp(createMemoryLog(), limits)({ host: '127.0.0.1', port: 0, tls }, answer);
  const client = new Worker(program, {
    eval: true,
    workerData: { port: server.port, ca: authority.caPem, ...numbers },
  });
  try {
    const [results] = (await once(client, 'message')) as [string[]];
    return { results, mostHeld };
  } finally {
    await client.terminate();
    await server.close(0);
  }
}

test('pipelines of many connections are read gradually: each gets all responses or its connection ends', async () => {
  const { results, mostHeld } = await crowd(PIPELINES, { connections: 60, requests: 900 });
  assert.equal(results.length, 60);
  assert.ok(results.includes('answered'), results.join());
  assert.ok(mostHeld > 0, 'no connection was held');
  assert.equal(readThrottle.paused, 0);
});

test('streams of many HTTP/2 connections get a response or are refused', async () => {
  const { results } = await crowd(STREAMS, { connections: 20, requests: 200 });
  assert.equal(results.length, 4000);
  assert.deepEqual(
    [...new Set(results)].filter((result) => result !== 'answered' && result !== 'ended'),
    [],
  );
  assert.ok(results.includes('answered'));
  assert.equal(readThrottle.paused, 0);
});
