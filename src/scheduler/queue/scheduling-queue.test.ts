import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createNodeResourcesFit } from '../plugins/node-resources-fit/node-resources-fit.ts';
import { createPrioritySort } from '../plugins/priority-sort/priority-sort.ts';
import { createSchedulingGates } from '../plugins/scheduling-gates/scheduling-gates.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import { createSchedulingQueue, eventTest, type SchedulingQueue } from './scheduling-queue.ts';

function queueUnderTest() {
  const clock = new VirtualClock();
  const sort = createPrioritySort();
  const gates = createSchedulingGates();
  const plugins = [createNodeResourcesFit(), gates];
  const queue = createSchedulingQueue(
    {
      clock,
      less: (a, b) => sort.less?.(a, b) ?? 0,
      preEnqueue: (pod) => gates.preEnqueue?.(pod),
      pluginsOf: () => plugins,
      wants: eventTest(plugins),
    },
    { initialBackoffMs: 1000, maxBackoffMs: 10_000, maxUnschedulableMs: 300_000 },
  );
  return { clock, queue };
}
const FIT = new Set(['NodeResourcesFit']);

test('higher priority first, then first come', () => {
  const { queue } = queueUnderTest();
  for (const pod of [testPod('a'), testPod('b', { priority: 5 }), testPod('c')]) queue.add(pod);
  assert.deepEqual(
    [queue.pop(), queue.pop(), queue.pop(), queue.pop()].map((q) => q?.pod.metadata.name),
    ['b', 'a', 'c', undefined],
  );
  queue.stop();
});

test('a rejected pod waits for an event its plugin asked for, and backs off longer each time', async () => {
  const { clock, queue } = queueUnderTest();
  queue.add(testPod('p', { cpu: '1' }));
  for (const backoffMs of [1000, 2000, 4000, 8000, 10_000, 10_000]) {
    const tried = queue.pop();
    assert.ok(tried !== undefined);
    queue.requeue(tried, FIT);
    queue.notify('node/update-condition');
    assert.equal(queue.counts().unschedulable, 1, 'an event nobody asked for wakes nobody');
    queue.notify('node/add', undefined, testNode('n'));
    assert.equal(queue.counts().backoff, 1);
    await clock.advance(backoffMs - 1);
    assert.equal(queue.counts().active, 0);
    await clock.advance(1);
    assert.equal(queue.counts().active, 1);
  }
  queue.stop();
});

test('an event during the try is not missed', () => {
  const { queue } = queueUnderTest();
  queue.add(testPod('p', { cpu: '1' }));
  const tried = queue.pop();
  queue.notify('assigned-pod/delete');
  assert.ok(tried !== undefined);
  queue.requeue(tried, FIT);
  assert.deepEqual(queue.counts(), { active: 0, backoff: 1, unschedulable: 0, gated: 0 });
  queue.stop();
});

test('a pod deleted during the try does not come back', () => {
  const { queue } = queueUnderTest();
  queue.add(testPod('p'));
  const tried = queue.pop();
  queue.remove('uid-p');
  assert.ok(tried !== undefined);
  queue.requeue(tried, new Set());
  assert.deepEqual(queue.counts(), { active: 0, backoff: 0, unschedulable: 0, gated: 0 });
  queue.stop();
});

test('gates hold a pod until they are gone', () => {
  const { queue } = queueUnderTest();
  const gated = testPod('p', { spec: { schedulingGates: [{ name: 'g' }] } });
  queue.add(gated);
  assert.equal(queue.counts().gated, 1);
  queue.update(gated, testPod('p'));
  assert.equal(queue.pop()?.pod.metadata.name, 'p');
  queue.stop();
});

test('nobody waits longer than five minutes without a try', async () => {
  const { clock, queue } = queueUnderTest();
  queue.add(testPod('p'));
  const tried = queue.pop();
  assert.ok(tried !== undefined);
  queue.requeue(tried, FIT);
  await clock.advance(300_000 + 30_000 + 10_000);
  assert.equal(queue.counts().active, 1);
  queue.stop();
});

/** Tries the next pod in vain. */
function failNext(queue: SchedulingQueue, rejectedBy: ReadonlySet<string>): void {
  const tried = queue.pop();
  assert.ok(tried !== undefined);
  queue.requeue(tried, rejectedBy);
}
const wake = (queue: SchedulingQueue): void => queue.notify('node/add', undefined, testNode('n'));
const names = (queue: SchedulingQueue): (string | undefined)[] => {
  const popped: (string | undefined)[] = [];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) popped.push(next.pod.metadata.name);
  return popped;
};
const none = { active: 0, backoff: 0, unschedulable: 0, gated: 0 };

test('back-off counts from the last try: who has waited longer is ready at once', async () => {
  const { clock, queue } = queueUnderTest();
  queue.add(testPod('p', { cpu: '1' }));
  failNext(queue, FIT);
  await clock.advance(60_000);
  wake(queue);
  assert.deepEqual(queue.counts(), { ...none, active: 1 });
  queue.stop();
});

test('who backs off lets others go first, and is tried when there are none', async () => {
  const { clock, queue } = queueUnderTest();
  const ready: number[] = [];
  queue.add(testPod('p', { cpu: '1' }));
  failNext(queue, FIT);
  queue.onReady(() => ready.push(clock.monotonicMs()));
  wake(queue);
  assert.deepEqual([queue.counts(), ready.length], [{ ...none, backoff: 1 }, 1]);
  queue.add(testPod('later'));
  assert.deepEqual(names(queue), ['later', 'p']);
  queue.stop();
});

test('after an error the pause is kept, however few there are', async () => {
  const { clock, queue } = queueUnderTest();
  queue.add(testPod('p'));
  for (const pauseMs of [1000, 2000, 4000]) {
    failNext(queue, new Set());
    assert.equal(queue.pop(), undefined);
    await clock.advance(pauseMs - 1);
    assert.equal(queue.pop(), undefined);
    await clock.advance(1);
  }
  // A rejection is no error: the next begins anew, and rejections were none before.
  failNext(queue, FIT);
  wake(queue);
  assert.equal(queue.place('uid-p')?.nextTryMs, 1000);
  failNext(queue, new Set());
  assert.equal(queue.place('uid-p')?.nextTryMs, 1000);
  queue.stop();
});

test('of those whose back-off ends in the same second the higher priority goes first', async () => {
  const { clock, queue } = queueUnderTest();
  await clock.advance(100);
  for (const [name, priority] of [
    ['low', 1],
    ['high', 9],
  ] as const) {
    queue.add(testPod(name, { cpu: '1', priority }));
    failNext(queue, FIT);
    await clock.advance(300);
  }
  wake(queue);
  assert.deepEqual(names(queue), ['high', 'low']);
  queue.stop();
});

test('a changed pod goes on backing off', () => {
  const { queue } = queueUnderTest();
  const pod = testPod('p', { cpu: '1' });
  queue.add(pod);
  failNext(queue, FIT);
  wake(queue);
  const changed = { ...pod, metadata: { ...pod.metadata, labels: { a: 'b' } } };
  queue.update(pod, changed);
  assert.deepEqual(queue.counts(), { ...none, backoff: 1 });
  assert.equal(queue.pop()?.pod, changed);
  queue.stop();
});

test('a pod whose change helps, and one nobody helped for minutes, need not back off again', async () => {
  const { clock, queue } = queueUnderTest();
  const pod = testPod('p', { cpu: '9' });
  queue.add(pod);
  failNext(queue, FIT);
  queue.update(pod, testPod('p', { cpu: '1' }));
  assert.deepEqual(queue.counts(), { ...none, backoff: 1 }, 'it failed just now');
  failNext(queue, FIT);
  await clock.advance(330_000);
  assert.deepEqual(queue.counts(), { ...none, active: 1 });
  queue.stop();
});
