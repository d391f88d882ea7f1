/** Thousands of watches of one kind over the network, and the cost of one change for a turn of the event loop. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { StoreEvent } from '../../storage/store.ts';
import type { Pace } from '../turns.ts';
import type { RevisionCell } from './revision-cell.ts';
import { encodeStored } from './stored-bytes.ts';
import { WatchCache } from './watch-cache.ts';
import { Watcher } from './watcher.ts';

const PREFIX = '/registry/things/';
const nobodyThrows = (error: unknown): void => assert.fail(String(error));

/** An event loop whose turns the test starts. */
function createLoop() {
  let [nowMs, turnMs, longestMs] = [0, 0, 0];
  let waiting: (() => void)[] = [];
  let isTaken = false;
  const pace: Pace = {
    monotonicMs: () => nowMs,
    yield: () => new Promise((resolve) => waiting.push(resolve)),
    turn() {
      if (isTaken) return pace.yield();
      isTaken = true;
      return undefined;
    },
  };
  return {
    pace,
    work(ms: number) {
      nowMs += ms;
      turnMs += ms;
      longestMs = Math.max(longestMs, turnMs);
    },
    async turn() {
      [isTaken, turnMs] = [false, 0];
      const [next, ...rest] = waiting;
      waiting = rest;
      next?.();
      for (let step = 0; step < 20; step++) await undefined;
    },
    longestMs: () => longestMs,
  };
}

function changeOf(revision: number, { name = 'a', bytes = 0, labels = {} } = {}): StoreEvent {
  const metadata = { name, labels, annotations: { fill: 'x'.repeat(bytes) } };
  return {
    type: 'put',
    createRevision: 1,
    key: PREFIX + name,
    revision,
    value: encodeStored({ kind: 'Thing', apiVersion: 'v1', metadata }),
  };
}

function setUp() {
  const loop = createLoop();
  const cache = new WatchCache(PREFIX, nobodyThrows, { pace: loop.pace });
  cache.beginLoad().finish(0);
  const clock = new VirtualClock();
  let ended = 0;
  /** A watch that spends 10 microseconds on a change. */
  const open = (selects: (cell: RevisionCell) => boolean = () => true) => {
    const revisions: string[] = [];
    const watcher = new Watcher<string>(
      {
        sink: {
          push: (items) => {
            revisions.push(items.join());
            return true;
          },
          end: () => void ended++,
        },
        encoder: {
          event: (type, { revision }) => `${type[0]}${revision}`,
          bookmark: () => 'bookmark',
          error: () => 'error',
        },
        selects: (cell) => {
          loop.work(0.005);
          return selects(cell);
        },
        selectsAll: false,
        under: PREFIX,
        bookmarks: true,
        timeoutMs: 1e9,
        isBehind: () => cache.isDispatching,
      },
      clock,
    );
    const start = (): void =>
      watcher.start((listener) => cache.listenPatiently({ listener, giveUp: () => watcher.end() }));
    return { watcher, revisions, start };
  };
  return { loop, cache, open, ended: () => ended };
}

test('10,000 watches hear of changes in turns of a few milliseconds, each in order and none twice', async () => {
  const { loop, cache, open } = setUp();
  const watches = Array.from({ length: 10_000 }, (_, at) => open(({ revision }) => at % 2 === 0 || revision !== 3));
  for (const { start } of watches) start();
  cache.apply([changeOf(1)], 0);
  cache.apply([changeOf(2)], 0);
  cache.apply([changeOf(3), changeOf(4, { name: 'b' })], 0);
  assert.equal(cache.get(`${PREFIX}b`)?.revision, 4, 'the cache has them at once');
  assert.ok(watches.some(({ revisions }) => revisions.length === 0));
  watches.at(-1)!.watcher.bookmark(4, 0);
  const late = open();
  late.watcher.resume(cache.changesAfter(2)!, 2, 4);
  late.start();
  for (const { watcher } of watches.slice(9000, 9100)) watcher.end();
  let turns = 0;
  for (; cache.isDispatching; turns++) await loop.turn();
  assert.ok(turns > 20, `${turns}`);
  assert.ok(loop.longestMs() < 4, `${loop.longestMs()}`);
  for (const [at, { revisions }] of watches.entries())
    if (at < 9000) assert.deepEqual(revisions, at % 2 === 0 ? ['A1', 'M2', 'M3,A4'] : ['A1', 'M2', 'D3,A4']);
  assert.deepEqual(late.revisions, ['M3,A4']);
  assert.deepEqual(watches.at(-1)!.revisions, ['A1', 'M2', 'D3,A4'], 'no bookmark of what it had yet to hear');
  watches.at(-1)!.watcher.bookmark(4, 0);
  assert.equal(watches.at(-1)!.revisions.at(-1), 'bookmark');
});

test('watches that make a form of their own of a large object get it one after the other, in turns', async () => {
  const { loop, cache, open } = setUp();
  const watches = Array.from({ length: 30 }, () =>
    open(() => {
      loop.work(2.5);
      return true;
    }),
  );
  for (const { start } of watches) start();
  for (const revision of [1, 2]) cache.apply([changeOf(revision, { bytes: 1_000_000 })], 0);
  while (cache.isDispatching) await loop.turn();
  assert.ok(loop.longestMs() < 15, `${loop.longestMs()}`);
  for (const { revisions } of watches) assert.deepEqual(revisions, ['A1', 'M2']);
});

test('a few watches receive a change before the cache processes the next', () => {
  const { cache, open } = setUp();
  const watches = Array.from({ length: 20 }, () => open());
  for (const { start } of watches) start();
  for (const revision of [1, 2, 3]) cache.apply([changeOf(revision)], 0);
  assert.equal(cache.isDispatching, false);
  for (const { revisions } of watches) assert.deepEqual(revisions, ['A1', 'M2', 'M3']);
});

test('listeners inside the process never wait for those', async () => {
  const { cache, open } = setUp();
  const heard: number[] = [];
  for (let count = 0; count < 1000; count++) open().start();
  cache.listen((events) => void heard.push(...events.map(({ revision }) => revision)));
  for (const revision of [1, 2, 3]) cache.apply([changeOf(revision)], 0);
  assert.deepEqual(heard, [1, 2, 3]);
});

test('watches that lag by too many bytes are ended, and later ones are served', async () => {
  const { loop, cache, open, ended } = setUp();
  const watches = Array.from({ length: 2000 }, () => open());
  for (const { start } of watches) start();
  for (let revision = 1; revision <= 40; revision++) cache.apply([changeOf(revision, { bytes: 1_000_000 })], 0);
  while (cache.isDispatching) await loop.turn();
  assert.ok(ended() > 1000, `${ended()}`);
  assert.ok(loop.longestMs() < 4, `${loop.longestMs()}`);
  const next = open();
  next.start();
  cache.apply([changeOf(41)], 0);
  while (cache.isDispatching) await loop.turn();
  assert.deepEqual(next.revisions, ['M41']);
});
