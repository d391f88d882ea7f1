/**
 * A client that sends many requests at once on one connection: answered in order, one in each turn, with other clients in
 * between.
 */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createMemoryLog } from '../sim/log.ts';
import { createListenHttp } from './http-server.ts';
import { waitingHeads } from './waiting-heads.ts';

async function pipelined(count: number): Promise<{ text: string; open: number; most: number; serve: number }> {
  let [open, most, served] = [0, 0, 0];
  const server = await createListenHttp(createMemoryLog())({ host: '127.0.0.1', port: 0 }, async ({ path }) => {
    most = Math.max(most, ++open);
    served++;
    for (let turns = Number(path.slice(1)) % 3; turns > 0; turns--) await new Promise(setImmediate);
    open--;
    return { kind: 'bytes', status: 200, headers: {}, chunks: [Buffer.from(`<${path}>`)] };
  });
  const client = connect(server.port, '127.0.0.1');
  let text = '';
  client.on('data', (chunk) => {
    text += String(chunk);
    if (text.includes(`</${count - 1}>`)) client.end();
  });
  client.on('error', () => undefined);
  client.write(Array.from({ length: count }, (_, at) => `GET /${at} HTTP/1.1\r\nHost: a\r\n\r\n`).join(''));
  await new Promise((resolve) => client.once('close', resolve));
  await server.close(0);
  return { text, open, most, serve: served };
}

test('pipelined requests are served one at a time and answered in order', async () => {
  const { text, most } = await pipelined(800);
  const answers = [...text.matchAll(/<\/(\d+)>/g)].map(([, number]) => Number(number));
  assert.deepEqual(
    answers,
    Array.from({ length: 800 }, (_, at) => at),
  );
  assert.equal(most, 1);
});

test('a client that lets thousands of requests wait loses its connection, and they are not served', async () => {
  const { serve } = await pipelined(3000);
  assert.ok(serve <= 1001, `${serve} served`);
});

test('waiting requests of closed connections are no longer counted', async () => {
  const server = await createListenHttp(createMemoryLog())({ host: '127.0.0.1', port: 0 }, async ({ signal }) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { kind: 'bytes', status: 200, headers: {}, chunks: [] };
  });
  const clients = Array.from({ length: 5 }, () => connect(server.port, '127.0.0.1').on('error', () => undefined));
  for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(100));
  while (waitingHeads.bytes < 5 * 99 * 8192) await new Promise(setImmediate);
  for (const client of clients) client.destroy();
  await server.close(0);
  while (waitingHeads.bytes > 0) await new Promise(setImmediate);
});
