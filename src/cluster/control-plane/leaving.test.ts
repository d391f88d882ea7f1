import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createLeaving } from './leaving.ts';

function scene(options: Parameters<typeof createLeaving>[1], requestTimeoutMs = 60_000) {
  const clock = new VirtualClock();
  const leaving = createLeaving(clock, options, requestTimeoutMs);
  const now = { busy: 1, watches: 2, closed: [] as number[], drained: false };
  const server = { port: 1, setCertificate: () => undefined, close: async (ms: number) => void now.closed.push(ms) };
  const begin = (): void => {
    const drained = leaving.drain({ busy: () => now.busy, watches: () => now.watches, listening: [server] });
    void drained.then(() => (now.drained = true));
  };
  return { clock, leaving, now, begin };
}

test('not ready at once, served for the delay, then closed to new ones until the last has ended', async () => {
  const { clock, leaving, now, begin } = scene({
    shutdownDelayMs: 5000,
    shutdownSendRetryAfter: false,
    shutdownWatchGraceMs: 0,
  });
  assert.equal(leaving.check.check(), undefined);
  begin();
  assert.equal(leaving.check.check(), 'process is shutting down');
  await clock.advance(4999);
  assert.deepEqual([now.closed, leaving.refusesNew(), now.drained], [[], false, false]);
  await clock.advance(1);
  assert.deepEqual([now.closed, leaving.refusesNew(), now.drained], [[60_000], false, false]);
  now.busy = 0;
  await clock.advance(20);
  assert.equal(now.drained, true, 'watches do not hold it up');
});

test('with Retry-After the listener stays open for refusals; watches get their grace period; no client delays the end', async () => {
  const options = { shutdownDelayMs: 0, shutdownSendRetryAfter: true, shutdownWatchGraceMs: 3000 };
  const { clock, leaving, now, begin } = scene(options, 10_000);
  begin();
  await clock.settle();
  assert.deepEqual([leaving.refusesNew(), now.closed], [true, []]);
  await clock.advance(9990);
  assert.equal(now.drained, false);
  await clock.advance(2500);
  assert.equal(now.drained, false, 'the grace of watches');
  await clock.advance(1000);
  assert.equal(now.drained, true);
});
