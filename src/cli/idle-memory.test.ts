import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { RevisionCell } from '../apiserver/watch-cache/revision-cell.ts';
import { encodeStored } from '../apiserver/watch-cache/stored-bytes.ts';
import { createNodeClock } from '../platform/node/clock.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { type ProcessMemory, returnMemoryWhenIdle, shouldCollect, thisProcess } from './idle-memory.ts';

const { log } = createSimPlatform();
const MIB = 1024 * 1024;

test('memory is released when the process is idle, enough is unused and the last release was long ago', () => {
  const idle = {
    cpuShare: 0.005,
    usedBytes: 30 * MIB,
    unusedBytes: 60 * MIB,
    leftBytes: 0,
    workedMs: 0,
    sinceCollectionMs: Infinity,
    afterBusyDue: false,
  };
  const cases: [Partial<typeof idle>, boolean][] = [
    [{}, true],
    [{ cpuShare: 0.2 }, false],
    [{ unusedBytes: 4 * MIB }, false],
    [{ unusedBytes: 4 * MIB, workedMs: 1000 }, false],
    [{ unusedBytes: 4 * MIB, workedMs: 1001 }, true],
    [{ leftBytes: 50 * MIB }, true],
    [{ leftBytes: 55 * MIB }, false],
    [{ usedBytes: 200 * MIB }, false],
    [{ usedBytes: 200 * MIB, workedMs: 1001 }, true],
    [{ sinceCollectionMs: 19_000 }, false],
    [{ sinceCollectionMs: 20_000 }, true],
    [{ unusedBytes: 4 * MIB, afterBusyDue: true }, true],
    [{ unusedBytes: 4 * MIB, afterBusyDue: true, sinceCollectionMs: 19_000 }, false],
  ];
  for (const [difference, expected] of cases) {
    assert.equal(shouldCollect({ ...idle, ...difference }), expected, JSON.stringify(difference));
  }
});

test('the process is checked every ten seconds, a busy one is not collected, and cancelling ends the checks', async () => {
  const { clock } = createSimPlatform();
  let cpuMs = 0;
  let unusedBytes = 60 * MIB;
  const collections: number[] = [];
  const collect = (): void => {
    collections.push(clock.monotonicMs() - startMs);
    unusedBytes = 1 * MIB;
  };
  const startMs = clock.monotonicMs();
  const memory = {
    cpuMs: () => cpuMs,
    heap: () => ({ usedBytes: 30 * MIB, unusedBytes, residentBytes: 150 * MIB }),
    collect,
  };
  const cancel = returnMemoryWhenIdle({ clock, log }, { memory });
  cpuMs += 5000;
  await clock.advance(10_000); // Half of a core: busy.
  assert.deepEqual(collections, []);
  await clock.advance(20_000);
  assert.deepEqual(collections, [20_000]);
  await clock.advance(20_000);
  assert.deepEqual(collections, [20_000]);
  unusedBytes = 60 * MIB;
  await clock.advance(20_000);
  assert.deepEqual(collections, [20_000, 60_000]);
  for (let tick = 1; tick <= 11; tick++) {
    cpuMs += 100; // A short burst of work.
    await clock.advance(10_000);
  }
  assert.deepEqual(collections, [20_000, 60_000, 180_000]);
  unusedBytes = 60 * MIB;
  cancel();
  await clock.advance(600_000);
  assert.deepEqual(collections, [20_000, 60_000, 180_000]);
});

test('garbage collection can be triggered in this process', async () => {
  const gone = new WeakRef({ garbage: true });
  const memory = thisProcess();
  assert.ok(memory.cpuMs() > 0);
  await createNodeClock().yield(); // A WeakRef holds its object for the running turn.
  memory.collect(false);
  assert.equal(gone.deref(), undefined);
});

test('a collection returns emptied pages to the operating system', async () => {
  const program = `
    const { thisProcess } = await import(${JSON.stringify(new URL('./idle-memory.ts', import.meta.url))});
    const memory = thisProcess();
    for (let round = 0; round < 4; round++) globalThis.held = Array.from({ length: 300_000 }, (_, i) => ({ i, list: [i] }));
    const busy = process.memoryUsage.rss();
    globalThis.held = undefined;
    memory.collect(true);
    console.log(JSON.stringify({ busy, idle: process.memoryUsage.rss() }));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);
  const { busy, idle } = JSON.parse(stdout) as { busy: number; idle: number };
  assert.ok(busy - idle > 40 * MIB, `${busy} before, ${idle} after`);
});

/** The actions in a minute of idleness after this much work, where a plain collection leaves this much memory. */
async function idleMinute(workMs: number, liveBytes: number, residentBytes = 300 * MIB): Promise<string[]> {
  const { clock } = createSimPlatform();
  const done: string[] = [];
  let used = 90 * MIB;
  const memory = {
    cpuMs: () => workMs,
    heap: () => ({ usedBytes: used, unusedBytes: 60 * MIB, residentBytes }),
    collect(isThorough: boolean) {
      done.push(isThorough ? 'thorough' : 'plain');
      used = liveBytes;
    },
  };
  const cancel = returnMemoryWhenIdle({ clock, log }, { memory, release: () => void done.push('released') });
  await clock.advance(60_000);
  cancel();
  return done;
}

test('caches are released before garbage is collected; a thorough collection needs a busy time and a small heap, or much to return; memory that stays in use triggers none', async () => {
  assert.deepEqual(await idleMinute(5000, 80 * MIB), ['released', 'plain']);
  assert.deepEqual(await idleMinute(5001, 80 * MIB), ['released', 'plain', 'thorough']);
  assert.deepEqual(await idleMinute(5001, 190 * MIB), ['released', 'plain']);
  assert.deepEqual(await idleMinute(5001, 190 * MIB, 900 * MIB), ['released', 'plain', 'thorough']);
  assert.deepEqual(await idleMinute(5001, 300 * MIB, 1200 * MIB), ['released', 'plain']);
});

for (const idleShare of [0, 0.01])
  test(`a busy time is followed by a second thorough collection when watches can no longer resume, with a processor share of ${idleShare}`, async () => {
    const { clock } = createSimPlatform();
    const collections: number[] = [];
    const memory = {
      cpuMs: () => 6000 + clock.monotonicMs() * idleShare,
      heap: () => ({ usedBytes: 50 * MIB, unusedBytes: 1 * MIB, residentBytes: 150 * MIB }),
      collect: (isThorough: boolean) => void (isThorough && collections.push(clock.monotonicMs())),
    };
    const cancel = returnMemoryWhenIdle({ clock, log }, { memory });
    await clock.advance(3_600_000);
    cancel();
    assert.deepEqual(
      collections.map((at) => at - collections[0]!),
      [0, 150_000],
    );
  });

test('objects that caches release before a collection are freed by it', async () => {
  const real = createNodeClock();
  const look = Promise.withResolvers<() => void>();
  const clock = { ...real, setTicker: (_: number, callback: () => void) => (look.resolve(callback), () => undefined) };
  const cells = Array.from({ length: 100 }, (_, index) => {
    const metadata = { name: `a${index}`, namespace: 'n' };
    return new RevisionCell(`/a${index}`, 7, encodeStored({ kind: 'ConfigMap', apiVersion: 'v1', metadata }));
  });
  const objects = cells.map((cell) => new WeakRef(cell.object()));
  const collected = Promise.withResolvers<void>();
  const own = thisProcess();
  const memory: ProcessMemory = {
    cpuMs: () => 0,
    heap: () => ({ usedBytes: 30 * MIB, unusedBytes: 60 * MIB, residentBytes: 150 * MIB }),
    collect(isThorough) {
      own.collect(isThorough);
      collected.resolve();
    },
  };
  returnMemoryWhenIdle({ clock, log }, { memory, release: () => cells.forEach((cell) => cell.rest()) });
  await real.yield();
  (await look.promise)();
  await collected.promise;
  assert.equal(objects.filter((object) => object.deref() !== undefined).length, 0);
  assert.deepEqual(cells.map((cell) => cell.object().metadata.name).slice(0, 2), ['a0', 'a1']);
});

test('a collection that fails is logged and counted, and the next is tried', async () => {
  const platform = createSimPlatform();
  const { clock } = platform;
  let cpuMs = 0;
  let tries = 0;
  const collect = (): never => {
    tries++;
    throw new TypeError('broken');
  };
  const memory = {
    cpuMs: () => cpuMs,
    heap: () => ({ usedBytes: 30 * MIB, unusedBytes: 0, residentBytes: 150 * MIB }),
    collect,
  };
  const cancel = returnMemoryWhenIdle(platform, { memory });
  for (const _ of [1, 2]) {
    cpuMs += 2000;
    await clock.advance(60_000);
  }
  cancel();
  assert.equal(tries, 2);
  assert.equal(platform.metrics.value('keelson_unexpected_errors_total', { component: '' }), 2);
});
