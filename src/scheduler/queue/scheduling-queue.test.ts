import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../api/gen/core-v1.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import { createNodeResourcesFit } from '../plugins/node-resources-fit/node-resources-fit.ts';
import { createPrioritySort } from '../plugins/priority-sort/priority-sort.ts';
import { createSchedulingGates } from '../plugins/scheduling-gates/scheduling-gates.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import type { SchedulingQueue } from './contract.ts';
import { eventTest } from './queue-entries.ts';
import { createSchedulingQueue } from './scheduling-queue.ts';

function queueUnderTest(
  more: readonly SchedulerPlugin[] = [],
  hintFailed: (plugin: string, error: unknown) => void = (_, error) => assert.fail(error as Error),
) {
  const clock = new VirtualClock();
  const sort = createPrioritySort();
  const gates = [createSchedulingGates(), ...more];
  const plugins = [createNodeResourcesFit(), ...gates];
  const queue = createSchedulingQueue(
    {
      clock,
      hintFailed,
      less: (a, b) => sort.less?.(a, b) ?? 0,
      preEnqueue: (pod) => gates.map((gate) => gate.preEnqueue?.(pod)).find((status) => status !== undefined),
      pluginsOf: () => plugins,
      wants: eventTest(plugins),
    },
    { initialBackoffMs: 1000, maxBackoffMs: 10_000, maxUnschedulableMs: 300_000 },
  );
  return { clock, queue };
}
const FIT = new Set(['NodeResourcesFit']);

test('higher priority first, then the order of arrival', () => {
  const { queue } = queueUnderTest();
  for (const pod of [testPod('a'), testPod('b', { priority: 5 }), testPod('c')]) queue.add(pod);
  assert.deepEqual(
    [queue.pop(), queue.pop(), queue.pop(), queue.pop()].map((q) => q?.pod.metadata.name),
    ['b', 'a', 'c', undefined],
  );
  queue.stop();
});

test('a rejected pod waits for an event of its plugin, and backs off longer each time', async () => {
  const { clock, queue } = queueUnderTest();
  queue.add(testPod('p', { cpu: '1' }));
  for (const backoffMs of [1000, 2000, 4000, 8000, 10_000, 10_000]) {
    const tried = queue.pop();
    assert.ok(tried !== undefined);
    queue.addUnschedulableIfNotPresent(tried, FIT);
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
  queue.addUnschedulableIfNotPresent(tried, FIT);
  assert.deepEqual(queue.counts(), { active: 0, backoff: 1, unschedulable: 0, gated: 0 });
  queue.stop();
});

test('a pod that is deleted during its attempt is not queued again', () => {
  const { queue } = queueUnderTest();
  queue.add(testPod('p'));
  const tried = queue.pop();
  queue.remove('uid-p');
  assert.ok(tried !== undefined);
  queue.addUnschedulableIfNotPresent(tried, new Set());
  assert.deepEqual(queue.counts(), { active: 0, backoff: 0, unschedulable: 0, gated: 0 });
  queue.stop();
});

test('gates hold a pod until they are removed', () => {
  const { queue } = queueUnderTest();
  const gated = testPod('p', { spec: { schedulingGates: [{ name: 'g' }] } });
  queue.add(gated);
  assert.equal(queue.counts().gated, 1);
  queue.update(gated, testPod('p'));
  assert.equal(queue.pop()?.pod.metadata.name, 'p');
  queue.stop();
});

/** A gate that holds pods while it is closed, and is evaluated again when a node is added or the pod changes. */
function plannedGate() {
  const gate = { isClosed: true, asked: 0 };
  const plugin: SchedulerPlugin = {
    name: 'Gate',
    preEnqueue() {
      gate.asked++;
      return gate.isClosed ? { code: 'unresolvable', plugin: 'Gate', reasons: ['closed'] } : undefined;
    },
    events: [{ event: 'node/add', hint: (_pod, _old, node) => (node as Node).metadata.name !== 'other' }],
  };
  return { gate, plugin };
}

test('a gate opens only by events of its plugin', () => {
  const { gate, plugin } = plannedGate();
  const { queue } = queueUnderTest([plugin]);
  queue.add(testPod('p'));
  gate.asked = 0;
  gate.isClosed = false;
  queue.notify('assigned-pod/delete');
  queue.notify('node/add', undefined, testNode('other'));
  assert.deepEqual([gate.asked, queue.counts()], [0, { ...none, gated: 1 }]);
  wake(queue);
  assert.equal(queue.pop()?.pod.metadata.name, 'p');
  queue.stop();
});

test('a pod that is gated after a rejection is queued when the gate opens, whatever rejected it', async () => {
  const { gate, plugin } = plannedGate();
  const { clock, queue } = queueUnderTest([plugin]);
  gate.isClosed = false;
  const pod = testPod('p', { cpu: '1' });
  queue.add(pod);
  failNext(queue, FIT);
  gate.isClosed = true;
  wake(queue);
  assert.deepEqual([queue.counts(), queue.place('uid-p')?.gate], [{ ...none, gated: 1 }, 'closed']);
  assert.deepEqual([...queue.rejected()], [{ pod, rejectedBy: new Set(['Gate', 'NodeResourcesFit']) }]);
  const changed = { ...pod, metadata: { ...pod.metadata, labels: { a: 'b' } } };
  queue.update(pod, changed);
  assert.deepEqual(queue.counts(), { ...none, gated: 1 });
  gate.isClosed = false;
  queue.update(changed, pod);
  assert.deepEqual(queue.counts(), { ...none, backoff: 1 });
  await clock.advance(1000);
  assert.equal(queue.pop()?.pod, pod);
  queue.stop();
});

test('a pod that another holds out now waits for the other', () => {
  const { gate, plugin } = plannedGate();
  const { queue } = queueUnderTest([plugin]);
  const pod = testPod('p', { spec: { schedulingGates: [{ name: 'g' }] } });
  queue.add(pod);
  queue.update(pod, testPod('p'));
  assert.deepEqual([queue.counts(), queue.place('uid-p')?.gate], [{ ...none, gated: 1 }, 'closed']);
  gate.isClosed = false;
  wake(queue);
  assert.equal(queue.counts().active, 1);
  queue.stop();
});

test('a plugin that cannot judge an event costs no pod', async () => {
  const fails = (): boolean => {
    throw new Error('no such thing');
  };
  const broken: SchedulerPlugin = { name: 'Broken', events: [{ event: 'pod/update', hint: fails }] };
  const { clock, queue } = queueUnderTest([broken]);
  const pod = testPod('p');
  queue.add(pod);
  failNext(queue, new Set(['Broken']));
  assert.throws(() => queue.update(pod, testPod('p', { cpu: '1' })), { message: 'no such thing' });
  await clock.advance(330_000);
  const tried = queue.pop();
  assert.ok(tried !== undefined);
  queue.update(pod, pod);
  assert.throws(() => queue.addUnschedulableIfNotPresent(tried, new Set(['Broken'])), { message: 'no such thing' });
  assert.deepEqual(queue.counts(), { ...none, unschedulable: 1 });
  queue.stop();
});

test('no pod waits longer than five minutes without an attempt', async () => {
  const { clock, queue } = queueUnderTest();
  queue.add(testPod('p'));
  const tried = queue.pop();
  assert.ok(tried !== undefined);
  queue.addUnschedulableIfNotPresent(tried, FIT);
  await clock.advance(300_000 + 30_000 + 10_000);
  assert.equal(queue.counts().active, 1);
  queue.stop();
});

test('gated pods are evaluated every five minutes, without an event', async () => {
  const { gate, plugin } = plannedGate();
  const { clock, queue } = queueUnderTest([plugin]);
  queue.add(testPod('p'));
  gate.asked = 0;
  await clock.advance(10 * 300_000);
  assert.ok(gate.asked >= 9 && gate.asked <= 10, `asked ${gate.asked} times`);
  gate.isClosed = false;
  await clock.advance(300_000 + 30_000);
  assert.deepEqual(queue.counts(), { ...none, active: 1 });
  queue.stop();
});

/** A failed attempt of the next pod. */
function failNext(queue: SchedulingQueue, rejectedBy: ReadonlySet<string>): void {
  const tried = queue.pop();
  assert.ok(tried !== undefined);
  queue.addUnschedulableIfNotPresent(tried, rejectedBy);
}
const wake = (queue: SchedulingQueue): void => queue.notify('node/add', undefined, testNode('n'));
const names = (queue: SchedulingQueue): (string | undefined)[] => {
  const popped: (string | undefined)[] = [];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) popped.push(next.pod.metadata.name);
  return popped;
};
const none = { active: 0, backoff: 0, unschedulable: 0, gated: 0 };

test('back-off counts from the last attempt: a pod that has waited longer is ready at once', async () => {
  const { clock, queue } = queueUnderTest();
  queue.add(testPod('p', { cpu: '1' }));
  failNext(queue, FIT);
  await clock.advance(60_000);
  wake(queue);
  assert.deepEqual(queue.counts(), { ...none, active: 1 });
  queue.stop();
});

test('pods in back-off follow all others, and are tried when there are none', async () => {
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
  // A rejection is no error: the error back-off restarts, and rejections were none before.
  failNext(queue, FIT);
  wake(queue);
  assert.equal(queue.place('uid-p')?.nextTryMs, 1000);
  failNext(queue, new Set());
  assert.equal(queue.place('uid-p')?.nextTryMs, 1000);
  queue.stop();
});

test('of pods whose back-off ends in the same second the higher priority is first', async () => {
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

test('a changed pod stays in back-off', () => {
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

test('a pod with a helpful change, and one without an event for minutes, skip the back-off', async () => {
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

test('a hint that throws counts as helpful, and the others are evaluated as well', () => {
  const failures: string[] = [];
  const broken: SchedulerPlugin = {
    name: 'Broken',
    events: [
      {
        event: 'node/add',
        hint(pod) {
          if (pod.metadata.name === 'a') throw new Error('no idea');
          return true;
        },
      },
    ],
  };
  const { queue } = queueUnderTest([broken], (plugin, error) =>
    failures.push(`${plugin}: ${(error as Error).message}`),
  );
  for (const name of ['a', 'b']) {
    queue.add(testPod(name));
    queue.addUnschedulableIfNotPresent(queue.pop()!, new Set(['Broken']));
  }
  queue.notify('node/add', undefined, testNode('n'));
  assert.equal(queue.counts().backoff, 2);
  assert.deepEqual(failures, ['Broken: no idea']);
  queue.stop();
});
