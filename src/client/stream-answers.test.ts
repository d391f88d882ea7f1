import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigMaps } from '../api/gen/resources.ts';
import type { ByteSink } from '../platform/streams.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import type { Client } from './client.ts';
import { createInProcessClient } from './in-process-transport.ts';

/** A client of an API whose responses the test writes. */
function clientOf(run: (sink: ByteSink) => Promise<void>, status = 200): Client {
  return createInProcessClient({
    handler: () => ({ kind: 'stream', status, headers: {}, run }),
    principal: { name: 'controller', groups: [] },
    clock: new VirtualClock(),
    userAgent: 'test',
  });
}

const answering = (text: string, status?: number): Client =>
  clientOf(async (sink) => {
    await sink.write(text);
    await sink.end();
  }, status);

async function forEver(sink: ByteSink): Promise<void> {
  const chunk = Buffer.alloc(1024 * 1024, '[],');
  for (;;) await sink.write(chunk);
}

const name = { namespace: 'a', name: 'b' };

test('objects and errors of other servers are read', async () => {
  const found = await answering('{"metadata":{"name":"b"}}').resource(ConfigMaps).get(name);
  assert.equal(found.metadata.name, 'b');
  const gone = '{"kind":"Status","code":404,"reason":"NotFound","message":"not here"}';
  await assert.rejects(answering(gone, 404).resource(ConfigMaps).get(name), /not here/);
  await assert.rejects(answering('<html>', 502).resource(ConfigMaps).get(name), /<html>/);
  await assert.rejects(answering('<html>').resource(ConfigMaps).get(name), /invalid character/);
});

test('endless responses are refused', async () => {
  await assert.rejects(clientOf(forEver).resource(ConfigMaps).get(name), /exceeds 67108864 bytes/);
  await assert.rejects(clientOf(forEver).raw({ path: '/apis/x' }), /exceeds 67108864 bytes/);
  const watch = clientOf(forEver).resource(ConfigMaps).watch({ resourceVersion: '1' });
  await assert.rejects(watch[Symbol.asyncIterator]().next(), /exceeds 8388608 bytes/);
});

test('a watch delivers events as they arrive, and ends when its reader leaves', async () => {
  const left = Promise.withResolvers<void>();
  const client = clientOf(async (sink) => {
    await sink.write('{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n{"type":"DEL');
    await sink.write('ETED","object":{"metadata":{"name":"a"}}}\n');
    try {
      for (;;) await sink.write(`{"type":"BOOKMARK","object":{"metadata":{"name":"${'x'.repeat(100_000)}"}}}\n`);
    } catch {
      left.resolve();
    }
  });
  const types: string[] = [];
  for await (const batch of client.resource(ConfigMaps).watch({ resourceVersion: '1' })) {
    types.push(...batch.map(({ type }) => type));
    if (types.length >= 3) break;
  }
  assert.deepEqual(types.slice(0, 3), ['ADDED', 'DELETED', 'BOOKMARK']);
  await left.promise;
});

test('a watch whose server breaks off rejects', async () => {
  const client = clientOf(async (sink) => {
    await sink.write('{"type":"ADDED","object":{}}\n');
    throw new Error('reset');
  });
  const batches = client.resource(ConfigMaps).watch({ resourceVersion: '1' })[Symbol.asyncIterator]();
  await assert.rejects(async () => {
    for (let count = 0; count < 3; count++) await batches.next();
  }, /reset/);
});
