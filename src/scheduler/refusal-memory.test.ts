import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom } from '../platform/sim/random.ts';
import { createSchedulerCache } from './cache/scheduler-cache.ts';
import type { Diagnosis } from './fit-error.ts';
import { createNominator } from './framework/nominations.ts';
import { createProfile } from './framework/profile.ts';
import { defaultPlugins } from './plugins/list.ts';
import { schedulePod } from './schedule-pod.ts';
import { testNode, testPluginDeps, testPod } from './scheduler-fixture.ts';

function setUp() {
  const plugins = defaultPlugins.map(({ create }) => create(testPluginDeps()));
  const profile = createProfile({ schedulerName: 'default-scheduler', plugins, weights: {} });
  const cache = createSchedulerCache();
  const nominations = createNominator();
  const placed = ['a', 'b', 'c'].map((node) => {
    cache.addNode(testNode(node));
    const pod = testPod(`on-${node}`, { cpu: '3' });
    cache.assume(pod, node);
    return pod;
  });
  const random = createSeededRandom(7);
  const cursor = { startAt: 0 };
  let count = 0;
  const next = () => {
    const pod = testPod(`p${count++}`, { cpu: '2' });
    return schedulePod({ profile, pod, snapshot: cache.snapshot(), random, cursor, nominations }, new Map());
  };
  const refusal = (): Diagnosis => {
    const result = next();
    assert.equal(result.node, undefined);
    return (result as { diagnosis: Diagnosis }).diagnosis;
  };
  return { cache, nominations, placed, next, refusal };
}

test('pods of one class share the refusals while nothing changes', () => {
  const { refusal } = setUp();
  const first = refusal();
  assert.deepEqual([...first.statuses.keys()].sort(), ['a', 'b', 'c']);
  assert.equal(refusal().statuses, first.statuses);
});

test('a changed node is evaluated again', () => {
  const { cache, placed, next, refusal } = setUp();
  refusal();
  cache.removePod(placed[1]!);
  assert.equal(next().node, 'b');
});

test('a new node is evaluated', () => {
  const { cache, next, refusal } = setUp();
  refusal();
  cache.addNode(testNode('d'));
  assert.equal(next().node, 'd');
});

test('a node that refuses for another reason reports the new one, and earlier decisions keep theirs', () => {
  const { cache, refusal } = setUp();
  const first = refusal();
  cache.updateNode(testNode('b', { spec: { unschedulable: true } }));
  assert.equal(refusal().statuses.get('b')?.plugin, 'NodeUnschedulable');
  assert.equal(first.statuses.get('b')?.plugin, 'NodeResourcesFit');
});

test('resources reserved by a nomination are evaluated again until it ends', () => {
  const { cache, nominations, placed, next, refusal } = setUp();
  const other = testPod('other', { cpu: '3', priority: 5 });
  nominations.set(other, 'b');
  cache.removePod(placed[1]!);
  refusal();
  refusal();
  nominations.delete(other.metadata.uid);
  assert.equal(next().node, 'b');
});
