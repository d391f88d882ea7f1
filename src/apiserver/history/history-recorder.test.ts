import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDeferred } from '../../base/deferred.ts';
import type { HistoryBatch, HistoryLog } from '../../storage/history-log.ts';
import { createMemoryStore } from '../../storage/memory/memory-store.ts';
import { createHistoryHere } from '../../storage/sqlite/history/history-here-fixture.ts';
import { type Store, StoreError } from '../../storage/store.ts';
import { createServerStorage } from '../server-storage.ts';
import { changedLog } from './history-log-fixture.ts';
import { startTestServer, testPlatform, type TestServer } from '../server-fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const limits = { sizeBytes: 64 << 20, ageMs: 86_400_000 };
const map = (name: string, value: string) => ({ metadata: { name }, data: { value } });

interface Parts {
  readonly platform?: ReturnType<typeof testPlatform>;
  readonly store?: Store;
  readonly wrap?: (log: HistoryLog) => HistoryLog;
  readonly log?: HistoryLog;
}

async function start(parts: Parts = {}): Promise<TestServer & { readonly log: HistoryLog }> {
  const { platform = testPlatform(), wrap = (log: HistoryLog) => log } = parts;
  const { clock } = platform;
  const log = wrap(parts.log ?? createHistoryHere({ limits, clock, log: platform.log }));
  const storage = createServerStorage({ store: parts.store ?? createMemoryStore({ clock }), platform, history: log });
  return { ...(await startTestServer({ storage, platform })), platform, log };
}

const exact = (name: string, revision: string | number) =>
  `${MAPS}/${name}?resourceVersion=${revision}&resourceVersionMatch=Exact`;

test('a log that is too slow holds no more than its bound: dropped changes are counted and reported', async () => {
  const gate = createDeferred<void>();
  const wrap = (log: HistoryLog): HistoryLog =>
    changedLog(log, { append: async (batch) => (await gate.promise, log.append(batch)) });
  const { send, platform, storage } = await start({ wrap });
  const first = await send('POST', MAPS, map('m', 'first'));
  await platform.clock.advance(10_000);
  const large = 'x'.repeat(1_000_000);
  for (let round = 0; round < 40; round++) await send('PUT', `${MAPS}/m`, map('m', `${round} ${large}`));
  const { droppedChanges } = storage.history!;
  assert.ok(droppedChanges > 20 && droppedChanges < 30, String(droppedChanges));
  assert.match(await platform.metrics.expose(), new RegExp(`history_dropped_changes_total ${droppedChanges}`));
  gate.resolve();
  const { body } = await send('GET', `/keelson/v1/history${MAPS}/m`);
  assert.equal(body.gaps[0].changes, droppedChanges);
  const current = (await send('GET', `${MAPS}/m`)).body.metadata.resourceVersion;
  assert.equal((await send('GET', exact('m', Number(current) - 3))).status, 410);
  assert.equal((await send('GET', exact('m', first.body.metadata.resourceVersion))).body.data.value, 'first');
  const last = await send('PUT', `${MAPS}/m`, map('m', 'last'));
  assert.equal((await send('GET', exact('m', last.body.metadata.resourceVersion))).body.data.value, 'last');
  await send('PUT', `${MAPS}/m`, map('m', 'beyond'));
  assert.match((await send('GET', exact('m', current))).body.data.value, /^39 /);
});

test('a change during a read of the history keeps its author', async () => {
  let meanwhile: (() => Promise<unknown>) | undefined;
  const wrap = (log: HistoryLog): HistoryLog =>
    changedLog(log, {
      async read(query) {
        const page = await log.read(query);
        await meanwhile?.();
        return page;
      },
    });
  const { send } = await start({ wrap });
  await send('POST', MAPS, map('m', 'first'));
  meanwhile = () => send('PUT', `${MAPS}/m`, map('m', 'second'));
  const { body } = await send('GET', `/keelson/v1/history${MAPS}/m`);
  meanwhile = undefined;
  const changes = (answer: typeof body): string[] =>
    answer.revisions.map(({ change, user }: { change: string; user?: string }) => `${change} by ${user}`);
  assert.deepEqual(changes(body), ['created by admin']);
  const later = await send('GET', `/keelson/v1/history${MAPS}/m`);
  assert.deepEqual(changes(later.body), ['changed by admin', 'created by admin']);
});

test('a batch that cannot be written is a gap, and the next one is written again', async () => {
  let fails = false;
  const wrap = (log: HistoryLog): HistoryLog =>
    changedLog(log, {
      append: (batch) => (fails ? Promise.reject(new StoreError('full', 'no space left')) : log.append(batch)),
    });
  const { send, platform } = await start({ wrap });
  await send('POST', MAPS, map('m', '1'));
  await platform.clock.advance(10_000);
  fails = true;
  await send('PUT', `${MAPS}/m`, map('m', '2'));
  await platform.clock.advance(10_000);
  assert.equal((await send('GET', `/keelson/v1/history${MAPS}/m`)).status, 503);
  fails = false;
  await send('PUT', `${MAPS}/m`, map('m', '3'));
  await platform.clock.advance(60_000);
  const { body, status } = await send('GET', `/keelson/v1/history${MAPS}/m`);
  assert.equal(status, 200);
  assert.equal(body.gaps.length, 1);
  assert.equal(platform.log.entries.filter(({ message }) => message.includes('could not be written')).length, 1);
});

test('changes that a crash kept from the history are read from the store', async () => {
  const platform = testPlatform();
  const store = createMemoryStore({ clock: platform.clock });
  const log = createHistoryHere({ limits, clock: platform.clock, log: platform.log });
  const first = await start({ platform, store, log });
  await first.send('POST', MAPS, map('m', '1'));
  await platform.clock.advance(10_000);
  await first.send('PUT', `${MAPS}/m`, map('m', '2'));
  first.storage.hub.stop(); // No buffer is flushed after this: simulates the end of the process.
  const second = await start({ platform, store, log });
  await second.send('PUT', `${MAPS}/m`, map('m', '3'));
  const { body } = await second.send('GET', `/keelson/v1/history${MAPS}/m`);
  assert.deepEqual(
    body.revisions.map(({ fields, user }: { fields: { to: string }[]; user?: string }) => [fields[0]?.to, user]),
    [
      ['"3"', 'admin'],
      ['"2"', undefined],
      [undefined, 'admin'],
    ],
  );
  assert.deepEqual(body.gaps, []);
});

test('leases of nodes are not recorded; no file is opened and no author reported for them', async () => {
  const batches: HistoryBatch[] = [];
  const wrap = (log: HistoryLog): HistoryLog =>
    changedLog(log, { append: (batch) => (batches.push(batch), log.append(batch)) });
  const { storage, platform } = await start({ wrap });
  for (const lease of ['kube-node-lease/n', `kube-system/apiserver-${'0'.repeat(26)}`])
    await storage.store.put({ key: `/registry/leases/${lease}`, value: Buffer.from('{}') });
  await platform.clock.advance(60_000);
  assert.deepEqual(batches, []);
});
