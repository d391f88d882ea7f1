import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createSleepHint } from './sleep-hint.ts';

test('a test that sleeps in real time before it reads is warned once; one that lets virtual time pass is not', async () => {
  const clock = new VirtualClock();
  let idleMs = 0;
  const warnings: string[] = [];
  const before = createSleepHint({ clock, idleMs: () => idleMs, warn: (message) => warnings.push(message) });
  idleMs = 600;
  before('client.resource(Pod).get');
  idleMs = 5000;
  await clock.advance(1);
  before('client.resource(Pod).get');
  idleMs = 7000;
  before('waitFor');
  assert.deepEqual(warnings, []);
  for (idleMs = 7100; idleMs < 9000; idleMs += 100) before('client.resource(Pod).get');
  assert.equal(warnings.length, 1);
  assert.match(
    warnings[0]!,
    /^the test waited 1\.0 s of real time before client.resource\(Pod\).get, .*cluster\.advance\('1s'\)/,
  );
});
