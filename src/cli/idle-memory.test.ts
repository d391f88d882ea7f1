import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { returnMemoryWhenIdle, shouldCollect } from './idle-memory.ts';

const MiB = 1024 * 1024;

test('memory is given back when the process is idle, there is much to gain and the last time is long ago', () => {
  const idle = { cpuShare: 0.005, unusedBytes: 60 * MiB, sinceCollectionMs: Number.POSITIVE_INFINITY };
  const cases: [Partial<typeof idle>, boolean][] = [
    [{}, true],
    [{ cpuShare: 0.2 }, false],
    [{ unusedBytes: 4 * MiB }, false],
    [{ sinceCollectionMs: 59_000 }, false],
    [{ sinceCollectionMs: 60_000 }, true],
  ];
  for (const [difference, expected] of cases) {
    assert.equal(shouldCollect({ ...idle, ...difference }), expected, JSON.stringify(difference));
  }
});

test('a look at an idle process makes its heap smaller', async () => {
  const { clock } = createSimPlatform();
  const cancel = returnMemoryWhenIdle(clock);
  let garbage: unknown[] | undefined = Array.from({ length: 1_000_000 }, (_, index) => ({ index }));
  assert.equal(garbage.length, 1_000_000);
  garbage = undefined;
  const before = process.memoryUsage().heapTotal;
  await clock.advance(3_600_000); // An hour in which this process does next to nothing.
  assert.ok(process.memoryUsage().heapTotal < before, 'the heap shrinks');
  cancel();
});
