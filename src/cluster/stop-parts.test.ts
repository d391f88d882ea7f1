/** Parts of a stop that end late or never. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../platform/sim/log.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { StopParts } from './stop-parts.ts';

const never = new Promise<void>(() => undefined);

function createStop() {
  const [clock, log] = [new VirtualClock(), createMemoryLog()];
  const lines = (): unknown[] => log.entries.map(({ level, fields }) => [level, fields['part']]);
  return { clock, lines, parts: new StopParts({ clock, log }) };
}

test('all components together delay a stop by less than a minute, the timeout of the caller', async () => {
  const { clock, lines, parts } = createStop();
  const stop = async (): Promise<void> => {
    for (const part of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']) await parts.wait(part, never);
  };
  await clock.drive(stop());
  assert.ok(clock.monotonicMs() < 50_000, String(clock.monotonicMs()));
  assert.deepEqual(lines().slice(0, 3), [
    ['warn', 'a'],
    ['error', 'a'],
    ['error', 'b'],
  ]);
});

test('a part that ends late is named, and waited for', async () => {
  const { clock, lines, parts } = createStop();
  await clock.drive(parts.wait('late', clock.sleep(15_000)));
  await clock.drive(parts.wait('none', undefined));
  assert.equal(clock.monotonicMs(), 15_000);
  assert.deepEqual(lines(), [['warn', 'late']]);
});

test('a component that others end is given up earlier', async () => {
  const { clock, lines, parts } = createStop();
  await clock.drive(parts.wait('controllers', never, 8000));
  assert.equal(clock.monotonicMs(), 8000);
  assert.deepEqual(lines(), [
    ['warn', 'controllers'],
    ['error', 'controllers'],
  ]);
});

test('a part that fails fails the stop', async () => {
  const { parts } = createStop();
  await assert.rejects(parts.wait('broken', Promise.reject(new Error('no port'))), /no port/);
});
