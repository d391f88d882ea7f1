import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../api/object.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createMemoryStore } from '../../storage/memory/memory-store.ts';
import { type Store, StoreError, type StoreWatcher } from '../../storage/store.ts';
import { CacheHub } from './cache-hub.ts';
import { RevisionCell } from './revision-cell.ts';
import { encodeStored } from './stored-bytes.ts';

const value = (name: string): Uint8Array => encodeStored({ kind: 'Thing', apiVersion: 'v1', metadata: { name } });

function setUp(): {
  hub: CacheHub;
  store: Store;
  clock: VirtualClock;
  breakWatch: (error: Error) => void;
  log: ReturnType<typeof createMemoryLog>;
} {
  const clock = new VirtualClock();
  const log = createMemoryLog();
  const inner = createMemoryStore({ clock });
  let watcher: StoreWatcher | undefined;
  let stop = (): void => undefined;
  const store: Store = Object.create(inner, {
    watch: {
      value: (range: Parameters<Store['watch']>[0], one: StoreWatcher) => {
        watcher = one;
        const watch = inner.watch(range, one);
        stop = () => watch.stop();
        return watch;
      },
    },
    range: { value: inner.range.bind(inner) },
    put: { value: inner.put.bind(inner) },
    delete: { value: inner.delete.bind(inner) },
  }) as Store;
  const breakWatch = (error: Error): void => {
    stop();
    watcher?.onError(error);
  };
  return { hub: new CacheHub({ store, clock, log }), store, clock, breakWatch, log };
}

test('a write is in the cache before it resolves, and every cache reaches its revision', async () => {
  const { hub, store } = setUp();
  const things = hub.cache('/registry/things/');
  const others = hub.cache('/registry/example.com/others/');
  await store.put({ key: '/registry/things/before', value: value('before') });
  await hub.start();
  assert.equal(things.get('/registry/things/before')?.object().metadata.resourceVersion, '2');
  const put = await store.put({ key: '/registry/example.com/others/n/o', value: value('o') });
  assert.ok(put.ok);
  assert.equal(hub.revision, put.revision);
  assert.equal(others.list('/registry/example.com/others/n/').length, 1);
  await store.put({ key: '/registry/unknown/x', value: value('x') });
  assert.equal(hub.revision, put.revision + 1);
  hub.stop();
});

test('when the watch breaks everything is read again and listeners hear the difference', async () => {
  const { hub, store, clock, breakWatch, log } = setUp();
  const things = hub.cache('/registry/things/');
  for (const name of ['stays', 'goes', 'changes'])
    await store.put({ key: `/registry/things/${name}`, value: value(name) });
  await hub.start();
  const seen: string[] = [];
  let resets = 0;
  hub.onReset(() => void resets++);
  things.listen(
    (events) =>
      void seen.push(
        ...events.map(
          ({ key, deleted, previous }) =>
            `${deleted ? 'deleted' : previous === undefined ? 'added' : 'changed'} ${key.slice(17)}`,
        ),
      ),
  );
  breakWatch(new StoreError('unavailable', 'gone'));
  assert.deepEqual([hub.healthy, resets], [false, 1]);
  await store.delete({ key: '/registry/things/goes' });
  await store.put({ key: '/registry/things/changes', value: value('changes') });
  await store.put({ key: '/registry/things/new', value: value('new') });
  await clock.advance(1000);
  assert.deepEqual([hub.healthy, seen], [true, ['changed changes', 'added new', 'deleted goes']]);
  await store.put({ key: '/registry/things/more', value: value('more') });
  assert.equal(seen.at(-1), 'added more');
  assert.equal(log.entries.filter(({ level }) => level === 'error').length, 1);
  hub.stop();
});

test('a prefix added later misses nothing that happens while it is read', async () => {
  const { hub, store } = setUp();
  await hub.start();
  await store.put({ key: '/registry/late/a', value: value('a') });
  const loading = hub.load('/registry/late/');
  await store.put({ key: '/registry/late/b', value: value('b') });
  const late = await loading;
  await store.put({ key: '/registry/late/c', value: value('c') });
  assert.deepEqual(
    late.list('/registry/late/').map((cell) => cell.object().metadata.name),
    ['a', 'b', 'c'],
  );
  hub.stop();
});

test('waiting for a revision ends with it or with the time', async () => {
  const { hub, store, clock } = setUp();
  await hub.start();
  const reached = hub.waitFor(2, 3000);
  await store.put({ key: '/registry/x/y', value: value('y') });
  assert.equal(await reached, true);
  const late = hub.waitFor(99, 3000);
  await clock.advance(3000);
  assert.equal(await late, false);
  hub.stop();
});

test('cells: the version is spliced in, foreign layouts are encoded again, a deletion has its own revision', () => {
  const own = new RevisionCell('k', 7, value('a'));
  assert.equal(
    own.jsonLine().toString(),
    '{"kind":"Thing","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"a"}}\n',
  );
  assert.deepEqual(JSON.parse(own.at(9).jsonLine().toString()), {
    kind: 'Thing',
    apiVersion: 'v1',
    metadata: { resourceVersion: '9', name: 'a' },
  });
  assert.equal(own.object().metadata.resourceVersion, '7');
  const empty = new RevisionCell('k', 3, encodeStored({ kind: 'Thing', apiVersion: 'v1', metadata: {} }));
  assert.deepEqual(JSON.parse(empty.jsonLine().toString()).metadata, { resourceVersion: '3' });
  const foreign = new RevisionCell('k', 4, Buffer.from('{ "metadata" : { "name" : "f" }, "kind": "Thing" }'));
  assert.deepEqual(JSON.parse(foreign.jsonLine().toString()).metadata, { name: 'f', resourceVersion: '4' });
  assert.equal(foreign.at(5).object().metadata.resourceVersion, '5');
});

test('a listener with a trigger receives objects that have or had its value, also after a relist', async () => {
  const { hub, store, clock, breakWatch } = setUp();
  const things = hub.cache('/registry/things/');
  const coloured = (name: string, colour: string): Uint8Array =>
    encodeStored({ kind: 'Thing', apiVersion: 'v1', metadata: { name, labels: { colour } } });
  const put = (name: string, colour: string) =>
    store.put({ key: `/registry/things/${name}`, value: coloured(name, colour) });
  await hub.start();
  const heard: Record<string, string[]> = { red: [], blue: [] };
  const leaves = Object.entries(heard).map(([value, list]) =>
    things.listen((events) => void list.push(...events.map(({ key }) => key.slice(17))), {
      field: 'colour',
      value,
      valueOf: (cell) => cell.object().metadata.labels?.['colour'],
    }),
  );
  await put('a', 'red');
  await put('b', 'blue');
  await put('a', 'blue');
  await put('c', 'green');
  await store.delete({ key: '/registry/things/b' });
  assert.deepEqual(heard, { red: ['a', 'a'], blue: ['b', 'a', 'b'] });
  breakWatch(new StoreError('unavailable', 'gone'));
  await put('d', 'red');
  await clock.advance(1000);
  assert.deepEqual(heard['red'], ['a', 'a', 'd']);
  for (const leave of leaves) leave();
  await put('e', 'red');
  assert.deepEqual(heard['red'], ['a', 'a', 'd']);
  hub.stop();
});

test('metadata is read without the rest, wherever it ends, and only from bytes of the expected kind', () => {
  const head = Buffer.from('{"kind":"Thing","apiVersion":"v1",');
  const labels = { brace: '}"{', escaped: '\\\\', quote: '\\"}', é: '\u{1f600}' };
  const metadata = { name: 'n', labels, ownerReferences: [{ uid: 'u', name: 'o', kind: 'K', apiVersion: 'v1' }] };
  const thing = { kind: 'Thing', apiVersion: 'v1', metadata, data: { a: '}' } } as KubernetesObject;
  const stored = encodeStored(thing, 'expiring');
  const cell = new RevisionCell('k', 7, stored);
  assert.deepEqual(cell.metadata(head), { ...metadata, resourceVersion: '7' });
  cell.jsonLine();
  assert.deepEqual(cell.metadata(head), { ...metadata, resourceVersion: '7' });
  assert.equal(cell.object().metadata, cell.metadata(head));
  assert.equal(cell.metadata(Buffer.from('{"kind":"Thing","apiVersion":"v2",')), undefined);
  const foreign = new RevisionCell('k', 4, Buffer.from('{"kind":"Thing","apiVersion":"v1","spec":{},"metadata":{}}'));
  assert.equal(foreign.metadata(head), undefined);
});

test('memory is released: the objects go, readers see the same', async () => {
  const { hub, store } = setUp();
  const things = hub.cache('/registry/things/');
  await hub.start();
  for (const name of ['a', 'b', 'c']) await store.put({ key: `/registry/things/${name}`, value: value(name) });
  const before = things.list('/registry/things/').map((cell) => JSON.parse(cell.jsonLine().toString()) as unknown);
  hub.releaseMemory();
  const cells = things.list('/registry/things/');
  assert.ok(cells.every((cell) => !cell.isDecoded));
  assert.deepEqual(
    cells.map((cell) => cell.object()),
    before,
  );
  hub.stop();
});

test('a listener that throws keeps no change from the others, and a broken cache is read again', async () => {
  const { hub, store, clock, log } = setUp();
  const things = hub.cache('/registry/things/');
  await hub.start();
  const seen: string[] = [];
  const broken = (): never => {
    throw new TypeError('broken');
  };
  things.listen(broken);
  things.listen((events) => void seen.push(...events.map(({ key }) => key.slice(17))));
  const trigger = { field: 'f', value: 'v', valueOf: () => 'v' };
  const leave = things.listen(broken, trigger);
  await store.put({ key: '/registry/things/one', value: value('one') });
  assert.deepEqual(seen, ['one']);
  assert.equal(log.entries.filter(({ message }) => message === 'a listener of a watch cache threw').length, 2);
  leave();

  const leaveBroken = things.listen(() => undefined, { ...trigger, valueOf: broken });
  await store.put({ key: '/registry/things/two', value: value('two') });
  leaveBroken();
  await clock.advance(2000);
  assert.equal(things.get('/registry/things/two')?.object().metadata.name, 'two');
  assert.ok(hub.healthy);
  await store.put({ key: '/registry/things/three', value: value('three') });
  assert.ok(seen.includes('three'));
  hub.stop();
});
