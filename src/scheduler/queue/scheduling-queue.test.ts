import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { createNodeResourcesFit } from '../plugins/node-resources-fit/node-resources-fit.ts';
import { createPrioritySort } from '../plugins/priority-sort/priority-sort.ts';
import { createSchedulingGates } from '../plugins/scheduling-gates/scheduling-gates.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import { createSchedulingQueue, eventTest } from './scheduling-queue.ts';

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
