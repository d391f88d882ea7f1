import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createWaitingPods } from './waiting-pods.ts';

const timeouts = new Map([
  ['A', 1000],
  ['B', 5000],
]);
const { signal } = new AbortController();

test('a pod continues when all plugins allow it', async () => {
  const pods = createWaitingPods(new VirtualClock());
  const waiting = pods.wait('u', timeouts, signal);
  assert.deepEqual(pods.get('u')?.pendingPlugins, ['A', 'B']);
  pods.get('u')?.allow('A');
  assert.deepEqual(pods.get('u')?.pendingPlugins, ['B']);
  pods.get('u')?.allow('B');
  assert.equal(await waiting, undefined);
  assert.deepEqual(pods.all(), []);
});

test('one rejection is enough', async () => {
  const pods = createWaitingPods(new VirtualClock());
  const waiting = pods.wait('u', timeouts, signal);
  pods.get('u')?.reject('B', 'no');
  assert.deepEqual(await waiting, { code: 'unschedulable', plugin: 'B', reasons: ['no'] });
});

test('the earliest timeout rejects', async () => {
  const clock = new VirtualClock();
  const pods = createWaitingPods(clock);
  const waiting = pods.wait('u', timeouts, signal);
  await clock.advance(1000);
  assert.deepEqual((await waiting)?.reasons, ['rejected due to timeout after waiting 1s at plugin A']);
});

test('the end of the scheduler ends the wait', async () => {
  const stop = new AbortController();
  const waiting = createWaitingPods(new VirtualClock()).wait('u', timeouts, stop.signal);
  stop.abort(new Error('over'));
  assert.equal((await waiting)?.code, 'error');
});
