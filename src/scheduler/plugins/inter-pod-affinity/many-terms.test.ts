/** Pods with thousands of required terms of affinity: each term costs the same, however many there are. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodAffinityTerm } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { allSteps } from '../../../base/steps.ts';
import { countSteps } from '../../../base/count-steps-fixture.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import { testNode, testPod } from '../../scheduler-fixture.ts';
import { createNodeCounts } from '../../framework/node-counts.ts';
import { createTopologyTallies } from '../../framework/topology-tallies.ts';
import { createTermReader } from './affinity-terms.ts';
import { createInterPodAffinity } from './inter-pod-affinity.ts';
import { sumTerms } from './prepared-counts.ts';
import { countEach, countMatching, mergeCounts } from './topology-counts.ts';

function labelled(name: string, labels: Record<string, string>): Stored<Pod> {
  const pod = testPod(name);
  return { ...pod, metadata: { ...pod.metadata, labels } };
}

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

test('many terms are summed by topology value', () => {
  const cache = createSchedulerCache();
  for (const name of ['n1', 'n2']) cache.addNode(testNode(name, { labels: { zone: 'z', [name]: 'v' } }));
  for (const [at, name] of ['n1', 'n2', 'n2'].entries()) cache.assume(labelled(`running-${at}`, { at: `${at}` }), name);
  const labelSelector = [
    {},
    { matchLabels: { at: '1' } },
    { matchExpressions: [{ key: 'at', operator: 'DoesNotExist' }] },
  ];
  const terms = Array.from({ length: 120 }, (_, at): PodAffinityTerm => ({
    topologyKey: ['zone', 'n1', 'n2', 'none'][at % 4]!,
    labelSelector: labelSelector[at % 3],
  }));
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
  const read = createTermReader(() => undefined)(testPod('p', { spec: { affinity } })).antiAffinity;
  const using = { snapshot: cache.snapshot(), counts: createNodeCounts(), tallies: createTopologyTallies() };
  const sums = (list: readonly { topologyKey: string; values: ReadonlyMap<string, number> }[]): unknown =>
    mergeCounts([...list])
      .flatMap(({ topologyKey, values }) => [...values].map(([value, count]) => `${topologyKey}=${value} ${count}`))
      .filter((text) => !text.endsWith(' 0'))
      .toSorted();
  const summed = allSteps(
    sumTerms(
      read.map((term) => ({ term, weight: 1 })),
      using.snapshot.nodes,
    ),
  );
  assert.deepEqual(sums(summed), sums(countEach(read, using)));
});

for (const kind of ['podAffinity', 'podAntiAffinity'] as const)
  for (const is of ['required', 'preferred'] as const)
    test(`thousands of ${is} terms of ${kind} and running pods are compared in steps`, () => {
      const cache = createSchedulerCache();
      cache.addNode(testNode('n', { labels: { host: 'n' } }));
      for (let at = 0; at < 100; at++) cache.assume(labelled(`running-${at}`, { [`a${at}`]: 'b' }), 'n');
      const terms = Array.from({ length: 1000 }, (_, at): PodAffinityTerm => ({
        topologyKey: 'host',
        labelSelector: { matchExpressions: [{ key: `k${at}`, operator: 'DoesNotExist' }] },
      }));
      const affinity = {
        [kind]:
          is === 'required'
            ? { requiredDuringSchedulingIgnoredDuringExecution: terms }
            : {
                preferredDuringSchedulingIgnoredDuringExecution: terms.map((podAffinityTerm) => ({
                  weight: 1,
                  podAffinityTerm,
                })),
              },
      };
      const plugin = createInterPodAffinity(() => undefined);
      const steps = plugin.prepare!(new Map(), testPod('p', { spec: { affinity } }), cache.snapshot());
      assert.ok(steps !== undefined);
      let count = 1;
      while (steps.next().done !== true) count++;
      assert.ok(count >= 10, `${count} steps`);
    });

test('a pod with few terms needs no steps', () => {
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'host' }] } };
  const cache = createSchedulerCache();
  const plugin = createInterPodAffinity(() => undefined);
  assert.equal(plugin.prepare!(new Map(), testPod('p', { spec: { affinity } }), cache.snapshot()), undefined);
});

test('a pod that leaves takes its part out of the sums of many terms', () => {
  const cache = createSchedulerCache();
  cache.addNode(testNode('n', { labels: { host: 'n', zone: 'z' } }));
  const running = labelled('running', { app: 'a' });
  cache.assume(running, 'n');
  const terms = Array.from({ length: 100 }, (_, at): PodAffinityTerm => ({
    topologyKey: at % 2 === 0 ? 'host' : 'zone',
    labelSelector: { matchLabels: { app: at < 4 ? 'a' : `b${at}` } },
  }));
  const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
  const pod = testPod('p', { spec: { affinity } });
  const plugin = createInterPodAffinity(() => undefined);
  const [state, snapshot] = [new Map<string, unknown>(), cache.snapshot()];
  plugin.preFilter!(state, pod, snapshot);
  const node = snapshot.byName('n')!;
  assert.equal(plugin.filter!(state, pod, node)?.code, 'unschedulable');
  const without = new Map([[plugin.name, plugin.cloneState!(state.get(plugin.name))]]);
  plugin.removePod!(without, pod, { other: running, node });
  assert.equal(plugin.filter!(without, pod, node), undefined);
  assert.equal(plugin.filter!(state, pod, node)?.code, 'unschedulable');
});
