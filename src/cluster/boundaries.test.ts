/** Components whose callbacks throw: the others continue, and the fault is counted once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResourceRegistry } from '../apiserver/generic-registry/resource-registry.ts';
import { createKeyedLoop, type ControllerDeps } from '../controllers/controller.ts';
import { createResultsManager } from '../kubelet/prober/results-manager.ts';
import { createSimPlatform, type SimPlatform } from '../platform/sim/sim-platform.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import { createProgress } from './progress.ts';

type Listen = (listener: () => void) => void;

/** Each walks through its listeners once when it is called. */
const fanOuts: Readonly<Record<string, (platform: SimPlatform, listen: (on: Listen) => void) => void>> = {
  'served resources': ({ log }, listen) => {
    const registry = new ResourceRegistry(log);
    listen((listener) => registry.onChange(listener));
    registry.add([], {} as never, {} as never);
  },
  'probe results': ({ log }, listen) => {
    const results = createResultsManager(log);
    listen((listener) => results.onUpdate(listener));
    results.set({ type: 'liveness', containerId: 'c', result: 'failure', podUid: 'u' } as never);
  },
  'steps of a start': (platform, listen) => {
    const progress = createProgress(platform);
    listen((listener) => progress.follow(listener));
    progress.finish('ready');
  },
};

const broken = (): never => {
  throw new TypeError('broken');
};

const countOf = ({ metrics }: SimPlatform, component = ''): number | undefined =>
  metrics.value('keelson_unexpected_errors_total', { component });

for (const [what, run] of Object.entries(fanOuts)) {
  test(`${what}: a listener that throws keeps nothing from the next one`, () => {
    const platform = createSimPlatform({ seed: 1 });
    let heard = 0;
    run(platform, (on) => {
      on(broken);
      on(() => heard++);
    });
    assert.deepEqual([heard, countOf(platform)], [1, 1]);
  });
}

test('a watcher of a store that throws gets its error and no change more; the others get all', async () => {
  const { clock } = createSimPlatform({ seed: 1 });
  const store = createMemoryStore({ clock });
  const range = { start: '/', end: '0', afterRevision: 0 };
  const seen: string[] = [];
  store.watch(range, { onEvents: broken, onError: (error) => seen.push(`ended: ${error.message}`) });
  store.watch(range, { onEvents: (events) => seen.push(...events.map(({ key }) => key)), onError: () => undefined });
  for (const key of ['/a', '/b']) await store.put({ key, value: new Uint8Array([1]) });
  await clock.advance(10);
  assert.deepEqual(seen.toSorted(), ['/a', '/b', 'ended: broken']);
  await store.close();
});

test('a watcher of a store that throws at the end of its watch keeps nothing from the others, and is counted', async () => {
  const platform = createSimPlatform({ seed: 1 });
  const store = createMemoryStore(platform);
  const range = { start: '/', end: '0', afterRevision: 0 };
  const ends: string[] = [];
  store.watch(range, { onEvents: broken, onError: broken });
  store.watch(range, { onEvents: () => undefined, onError: broken });
  store.watch(range, { onEvents: () => undefined, onError: ({ message }) => ends.push(message) });
  await store.put({ key: '/a', value: new Uint8Array([1]) });
  await platform.clock.advance(10);
  assert.equal(countOf(platform), 1);
  await store.close();
  await platform.clock.advance(10);
  assert.deepEqual([ends.length, countOf(platform)], [1, 2]);
});

test('a work item that throws is tried again later, counted each time, and the next key is worked on', async () => {
  const platform = createSimPlatform({ seed: 1 });
  const done: string[] = [];
  let failures = 3;
  const sync = async (key: string): Promise<void> => {
    if (key === 'bad' && failures-- > 0) broken();
    done.push(key);
  };
  const loop = createKeyedLoop({ platform } as unknown as ControllerDeps, {
    name: 'test',
    workers: 1,
    informers: [],
    sync,
  });
  const ending = new AbortController();
  const running = loop.start(ending.signal);
  for (const key of ['bad', 'good']) loop.queue.add(key);
  await platform.clock.advance(10_000);
  ending.abort();
  await running;
  assert.deepEqual([done, countOf(platform, 'test')], [['good', 'bad'], 3]);
});
