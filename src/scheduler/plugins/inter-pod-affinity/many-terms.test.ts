/** Pods with thousands of required terms of affinity: each term costs the same, however many there are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodAffinityTerm } from '../../../api/gen/core-v1.ts';
import { countSteps } from '../../../base/count-steps-fixture.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import { testNode, testPod } from '../../scheduler-fixture.ts';
import { createNodeCounts } from '../../framework/node-counts.ts';
import { createTopologyTallies } from '../../framework/topology-tallies.ts';
import { createTermReader } from './affinity-terms.ts';
import { countEach, countMatching } from './topology-counts.ts';

const ofNamespaces = { namespaceSelector: { matchLabels: { a: 'b' } } };

for (const [what, more] of [
  ['in the pod’s namespace', {}],
  ['in selected namespaces', ofNamespaces],
] as const)
  test(`the work of terms ${what} grows as their number`, async () => {
    const stepsOf = (count: number): Promise<number> => {
      const cache = createSchedulerCache();
      cache.addNode(testNode('n', { labels: { k1: 'v' } }));
      cache.assume(testPod('running'), 'n');
      const terms = Array.from({ length: count }, (_, at): PodAffinityTerm => ({
        topologyKey: `k${at}`,
        labelSelector: {},
        ...more,
      }));
      const affinity = { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
      const read = createTermReader(() => ({ a: 'b' }))(testPod('p', { spec: { affinity } })).affinity;
      const using = { snapshot: cache.snapshot(), counts: createNodeCounts(), tallies: createTopologyTallies() };
      return countSteps('.ts', () => {
        const found = countMatching(read, using);
        assert.equal(found.length, count);
        assert.deepEqual([...found[1]!.values], [['v', 1]]);
        assert.deepEqual([...found[2]!.values], []);
      });
    };
    const [few, more4] = [await stepsOf(300), await stepsOf(1200)];
    assert.ok(few > 300, `${few} steps`);
    assert.ok(more4 < 5 * few, `${few} steps for 300, ${more4} for 1200`);
  });

test('each of many terms counts the same as alone', () => {
  const cache = createSchedulerCache();
  for (const name of ['n1', 'n2']) cache.addNode(testNode(name, { labels: { zone: 'z', [name]: 'v' } }));
  for (const [at, name] of ['n1', 'n2', 'n2'].entries()) cache.assume(testPod(`running-${at}`), name);
  const terms = Array.from({ length: 100 }, (_, at): PodAffinityTerm => ({
    topologyKey: ['zone', 'n1', 'n2', 'none'][at % 4]!,
    labelSelector: {},
  }));
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
  const read = createTermReader(() => undefined)(testPod('p', { spec: { affinity } })).antiAffinity;
  const using = { snapshot: cache.snapshot(), counts: createNodeCounts(), tallies: createTopologyTallies() };
  const positive = (list: readonly { values: ReadonlyMap<string, number> }[]): unknown =>
    list.map(({ values }) => [...values].filter(([, count]) => count > 0));
  assert.deepEqual(positive(countEach(read, using)), positive(read.flatMap((term) => countEach([term], using))));
});
