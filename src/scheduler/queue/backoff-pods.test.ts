import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { testPod } from '../scheduler-fixture.ts';
import { BackoffPods, type BackoffEntry } from './backoff-pods.ts';

interface TestEntry extends BackoffEntry {
  readonly priority: number;
}

function setUp() {
  const clock = new VirtualClock();
  const startMs = clock.monotonicMs();
  const completed: string[] = [];
  const pods = new BackoffPods<TestEntry>({
    clock,
    less: (a, b) => b.priority - a.priority,
    onCompleted: ({ pod }) => completed.push(`${pod.metadata.name} ${clock.monotonicMs() - startMs}`),
  });
  const entry = (name: string, endsMs: number, more: { failed?: boolean; priority?: number } = {}): TestEntry => ({
    pod: testPod(name),
    rejectedBy: new Set(more.failed === true ? [] : ['Fit']),
    backoffEndsMs: startMs + endsMs,
    priority: more.priority ?? 0,
  });
  const uidOf = (name: string): string => testPod(name).metadata.uid;
  return { clock, completed, pods, entry, uidOf };
}

describe('Pods in back-off', () => {
  it('leave it when it ends, whatever the order they came in', async () => {
    const { clock, completed, pods, entry } = setUp();
    pods.add(entry('late', 3000));
    pods.add(entry('failed', 2000, { failed: true }));
    pods.add(entry('early', 1000));
    await clock.advance(999);
    assert.deepEqual(completed, []);
    await clock.advance(5000);
    assert.deepEqual(completed, ['early 1000', 'failed 2000', 'late 3000']);
    assert.equal(pods.size, 0);
  });

  it('are tried early only when they were rejected, the first to end first, then by priority', () => {
    const { pods, entry } = setUp();
    pods.add(entry('failed', 500, { failed: true }));
    pods.add(entry('second', 1000, { priority: 1 }));
    pods.add(entry('first', 1000, { priority: 2 }));
    pods.add(entry('third', 2000, { priority: 9 }));
    const names = [1, 2, 3, 4].map(() => pods.popRejected()?.pod.metadata.name);
    assert.deepEqual(names, ['first', 'second', 'third', undefined]);
    assert.deepEqual(
      [...pods.values()].map(({ pod }) => pod.metadata.name),
      ['failed'],
    );
    pods.stop();
  });

  it('keep their end when another version of the pod replaces them', async () => {
    const { clock, completed, pods, entry, uidOf } = setUp();
    for (const failed of [false, true]) {
      const before = entry(`p-${failed}`, 1000, { failed });
      pods.add(before);
      pods.remove(uidOf(`p-${failed}`));
      pods.replace({ ...before, pod: testPod(`p-${failed}`, { priority: 7 }) });
      assert.equal(pods.get(uidOf(`p-${failed}`))?.pod.spec?.priority, 7);
    }
    assert.equal(pods.size, 2);
    await clock.advance(1000);
    assert.deepEqual(completed, ['p-false 1000', 'p-true 1000']);
  });

  it('that were removed, and all after a stop, never complete', async () => {
    const { clock, completed, pods, entry, uidOf } = setUp();
    pods.add(entry('removed', 1000));
    pods.add(entry('kept', 2000, { failed: true }));
    pods.remove(uidOf('removed'));
    assert.deepEqual([pods.size, pods.get(uidOf('removed'))], [1, undefined]);
    await clock.advance(1500);
    pods.stop();
    await clock.advance(5000);
    assert.deepEqual(completed, []);
  });
});
