import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHistoryHere } from '../../storage/sqlite/history/history-here-fixture.ts';
import { createMemoryStore } from '../../storage/memory/memory-store.ts';
import type { HistoryLimits } from '../../storage/history-log.ts';
import type { Store } from '../../storage/store.ts';
import { createServerStorage } from '../server-storage.ts';
import { startTestServer, testPlatform, type TestServer } from '../server-fixture.ts';

const DAY: HistoryLimits = { sizeBytes: 1 << 20, ageMs: 86_400_000 };
const MAPS = '/api/v1/namespaces/default/configmaps';
const history = (name: string, query = '') => `/keelson/v1/history${MAPS}/${name}${query}`;

async function startWithHistory(limits = DAY, store?: Store): Promise<TestServer> {
  const platform = testPlatform();
  const { clock, log } = platform;
  const kept = createHistoryHere({ limits, clock, log });
  const storage = createServerStorage({ store: store ?? createMemoryStore({ clock }), platform, history: kept });
  return { ...(await startTestServer({ storage, platform })), platform };
}

const map = (name: string, data: Record<string, string>) => ({ metadata: { name }, data });

test('every revision of an object is listed with its author and its changes', async () => {
  const { send } = await startWithHistory();
  await send('POST', `${MAPS}?fieldManager=first`, map('m', { a: '1' }));
  await send('PUT', `${MAPS}/m?fieldManager=second`, map('m', { a: '2', 'b.c/d': 'x' }));
  const patch = { 'content-type': 'application/merge-patch+json' };
  await send('PATCH', `${MAPS}/m?fieldManager=third`, { metadata: { labels: { l: 'v' } } }, patch);
  await send('PATCH', `${MAPS}/m?dryRun=All`, { data: { a: '9' } }, patch);
  await send('DELETE', `${MAPS}/m`);
  const { body } = await send('GET', history('m'));
  assert.equal(body.kind, 'ObjectHistory');
  const short = body.revisions.map((one: Record<string, unknown>) => [
    one['change'],
    one['user'],
    one['verb'],
    one['manager'],
    one['fields'],
  ]);
  assert.deepEqual(short, [
    ['deleted', 'admin', 'delete', short[0]![3], []],
    ['changed', 'admin', 'patch', 'third', [{ path: 'metadata.labels', to: '{…}' }]],
    [
      'changed',
      'admin',
      'update',
      'second',
      [
        { path: 'data.a', from: '"1"', to: '"2"' },
        { path: 'data["b.c/d"]', to: '"x"' },
      ],
    ],
    ['created', 'admin', 'create', 'first', []],
  ]);
  assert.deepEqual(body.gaps, []);
});

test('an object is returned as it was at a revision, and is 404 at revisions without it', async () => {
  const { send } = await startWithHistory();
  const revisions: string[] = [];
  for (const value of ['1', '2', '3']) {
    const [verb, path] = value === '1' ? ['POST', MAPS] : ['PUT', `${MAPS}/m`];
    revisions.push((await send(verb!, path!, map('m', { value }))).body.metadata.resourceVersion);
  }
  await send('DELETE', `${MAPS}/m`);
  const exact = (revision: string | number) =>
    send('GET', `${MAPS}/m?resourceVersion=${revision}&resourceVersionMatch=Exact`);
  for (const [index, revision] of revisions.entries()) {
    const { body } = await exact(revision);
    assert.deepEqual([body.data.value, body.metadata.resourceVersion], [String(index + 1), revision]);
  }
  assert.equal((await exact(Number(revisions[2]) + 1)).status, 404);
  assert.equal((await exact(Number(revisions[0]) - 1 || 1)).status, Number(revisions[0]) > 1 ? 404 : 200);
  assert.equal((await exact(0)).status, 400);
  assert.equal((await send('GET', history('m', `?at=${revisions[1]}`))).body.object.data.value, '2');
});

test('objects older than the history are known from their first change on', async () => {
  const { clock } = testPlatform();
  const store = createMemoryStore({ clock });
  const first = await startTestServer({ storage: createServerStorage({ store, platform: testPlatform() }) });
  await first.send('POST', MAPS, map('m', { value: 'old' }));
  const { resourceVersion } = (await first.send('GET', `${MAPS}/m`)).body.metadata;
  await first.server.stop();
  const { send } = await startWithHistory(DAY, store);
  await send('PUT', `${MAPS}/m`, map('m', { value: 'new' }));
  const { body } = await send('GET', history('m'));
  assert.deepEqual(
    body.revisions.map(({ change }: { change: string }) => change),
    ['changed', 'known'],
  );
  const exact = `${MAPS}/m?resourceVersionMatch=Exact&resourceVersion=${resourceVersion}`;
  assert.equal((await send('GET', exact)).body.data.value, 'old');
  assert.equal((await send('GET', `${MAPS}/m?resourceVersionMatch=Exact&resourceVersion=1`)).status, 410);
});

test('a server without history answers 410 for earlier revisions and has no history view', async () => {
  const { send } = await startTestServer();
  const { body } = await send('POST', MAPS, map('m', { value: '1' }));
  await send('PUT', `${MAPS}/m`, map('m', { value: '2' }));
  const { resourceVersion } = body.metadata;
  assert.equal(
    (await send('GET', `${MAPS}/m?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`)).status,
    410,
  );
  assert.equal((await send('GET', history('m'))).status, 404);
});

test('revisions older than the age are forgotten, and so are the oldest beyond the size', async () => {
  const { send, platform } = await startWithHistory({ sizeBytes: 40_000, ageMs: 3_600_000 });
  const random = platform.random.fork('values');
  const write = async (value: string) => send('PUT', `${MAPS}/m`, map('m', { value }));
  await send('POST', MAPS, map('m', { value: '0' }));
  for (let round = 0; round < 60; round++) {
    await write(Array.from({ length: 100 }, () => random.uuid()).join());
    await platform.clock.advance(2000);
  }
  const { body } = await send('GET', history('m'));
  assert.ok(body.revisions.length > 2 && body.revisions.length < 40, String(body.revisions.length));
  assert.ok(Number(body.since) > 0);
  const old = Number(body.since) - 1;
  assert.equal((await send('GET', `${MAPS}/m?resourceVersion=${old}&resourceVersionMatch=Exact`)).status, 410);
  await platform.clock.advance(2 * 3_600_000);
  const later = await send('GET', history('m'));
  assert.deepEqual(
    later.body.revisions.map(({ change }: { change: string }) => change),
    ['known'],
  );
});

test('pages of a long history follow each other without a hole', async () => {
  const { send } = await startWithHistory();
  await send('POST', MAPS, map('m', { value: '0' }));
  for (let round = 1; round < 25; round++) await send('PUT', `${MAPS}/m`, map('m', { value: String(round) }));
  const values: string[] = [];
  let before = '';
  do {
    const { body } = await send('GET', history('m', `?limit=10${before}`));
    for (const { fields } of body.revisions) values.push(fields[0]?.to ?? 'created');
    before = body.before === undefined ? '' : `&before=${body.before}`;
  } while (before !== '');
  assert.deepEqual(values, [...Array.from({ length: 24 }, (_, index) => `"${24 - index}"`), 'created']);
});
