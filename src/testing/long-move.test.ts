import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { Cluster } from './cluster.ts';
import { reportProgress } from './long-move.ts';

test('a long call reports its progress until it ends, failed or not', async () => {
  const clock = new VirtualClock();
  const warnings: string[] = [];
  const timers = new Set<() => void>();
  const deps = {
    clock,
    everyRealMs: (periodMs: number, callback: () => void) => {
      assert.equal(periodMs, 10_000);
      timers.add(callback);
      return () => void timers.delete(callback);
    },
    warn: (message: string) => void warnings.push(message),
  };
  const pass = (): void => timers.forEach((callback) => callback());
  await reportProgress(deps, { call: 'advance', totalMs: 86_400_000 }, async () => {
    await clock.advance(3_600_000);
    pass();
    await clock.advance(3_600_000);
    pass();
  });
  await assert.rejects(
    reportProgress(deps, { call: 'waitFor' }, async () => {
      pass();
      throw new Error('x');
    }),
    /^Error: x$/,
  );
  pass();
  assert.deepEqual(warnings, [
    'advance: 1h0m0s of 24h0m0s of virtual time in 10 s of real time',
    'advance: 2h0m0s of 24h0m0s of virtual time in 20 s of real time',
    'waitFor: 0ms of virtual time in 10 s of real time',
  ]);
});

test('short calls report nothing', async (t) => {
  const warned = t.mock.method(process, 'emitWarning', () => undefined);
  await using cluster = await Cluster.start({ nodes: 1 });
  await cluster.advance('1h');
  await cluster.waitFor('node/node-1', 'Ready');
  assert.equal(warned.mock.callCount(), 0);
});
