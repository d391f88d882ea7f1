/** Plugins with arguments, by examples. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileLabelMap } from '../../api/label-selector.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import { defaultArgs, type FitArgs } from '../config/plugin-args.ts';
import { fitErrorMessage } from '../fit-error.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import { createProfile } from '../framework/profile.ts';
import { schedulePod } from '../schedule-pod.ts';
import { testNode, testPod } from '../scheduler-fixture.ts';
import { createBalancedAllocation } from './balanced-allocation/balanced-allocation.ts';
import { createNodeAffinity } from './node-affinity/node-affinity.ts';
import { createNodeResourcesFit } from './node-resources-fit/node-resources-fit.ts';
import { createPodTopologySpread } from './pod-topology-spread/pod-topology-spread.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const nodes = ['a', 'b', 'c'].map((name) => testNode(name, { labels: { [ZONE]: name === 'c' ? 'z2' : 'z1' } }));

function schedule(plugin: SchedulerPlugin, pod: Stored<Pod>, running: readonly (readonly [Stored<Pod>, string])[]) {
  const cache = createSchedulerCache();
  for (const node of nodes) cache.addNode(node);
  for (const [other, node] of running) cache.assume(other, node);
  const profile = createProfile({ schedulerName: 's', plugins: [plugin], weights: { [plugin.name]: 1 } });
  const input = { profile, pod, snapshot: cache.snapshot(), random: createSeededRandom(1), cursor: { startAt: 0 } };
  const result = schedulePod(input, new Map());
  if (result.node === undefined) return fitErrorMessage(result.diagnosis);
  const { scored } = result;
  return Object.fromEntries((scored?.nodes ?? []).map(({ name }, i) => [name, scored?.totals[i]]));
}

// Nodes have 4 processors and 8 GiB. With the pod, a has 75 % and 50 % in use, b 25 % and 25 %, c 100 % and 25 %.
const used: readonly (readonly [Stored<Pod>, string])[] = [
  [testPod('x', { cpu: '2', memory: '2Gi' }), 'a'],
  [testPod('y', { cpu: '3', memory: '1' }), 'c'],
];
const asking = testPod('p', { cpu: '1', memory: '2Gi' });
const shape = (...scores: readonly number[]) => scores.map((score, i) => ({ utilization: i * 100, score }));
const fits: readonly [what: string, args: Partial<FitArgs>, expected: object][] = [
  ['the least allocated', {}, { a: 37, b: 75, c: 37 }],
  ['the most allocated', { strategy: 'MostAllocated' }, { a: 62, b: 25, c: 62 }],
  [
    'the most allocated, processors counting thrice',
    {
      strategy: 'MostAllocated',
      resources: [
        { name: 'cpu', weight: 3 },
        { name: 'memory', weight: 1 },
      ],
    },
    { a: 68, b: 25, c: 81 },
  ],
  ['a rising shape', { strategy: 'RequestedToCapacityRatio', shape: shape(0, 10) }, { a: 63, b: 25, c: 63 }],
  [
    'a falling shape: what scores nothing is left out',
    { strategy: 'RequestedToCapacityRatio', shape: shape(10, 0) },
    { a: 38, b: 75, c: 75 },
  ],
];
for (const [what, args, expected] of fits)
  test(`NodeResourcesFit prefers ${what}`, () =>
    assert.deepEqual(schedule(createNodeResourcesFit({ ...defaultArgs.fit, ...args }), asking, used), expected));

// Without the pod, a is balanced by 87 of 100, b by 100, c by 62; 75 is no change, 50 and 100 the greatest.
const balances: readonly [what: string, pod: Stored<Pod>, expected: object][] = [
  ['a pod that asks for as much of both changes nothing', asking, { a: 75, b: 75, c: 75 }],
  ['memory is asked for where processors are used', testPod('p', { memory: '4Gi' }), { a: 75, b: 62, c: 87 }],
  ['processors are asked for', testPod('p', { cpu: '1' }), { a: 69, b: 68, c: 69 }],
  ['a pod that asks for nothing has no say', testPod('p'), { a: 0, b: 0, c: 0 }],
];
for (const [what, pod, expected] of balances)
  test(`NodeResourcesBalancedAllocation: ${what}`, () =>
    assert.deepEqual(schedule(createBalancedAllocation(), pod, used), expected));

const web = (name: string): Stored<Pod> => {
  const pod = testPod(name);
  return stored({ ...pod, metadata: { ...pod.metadata, labels: { app: 'web' } } });
};
const twoOnA: readonly (readonly [Stored<Pod>, string])[] = [
  [web('x'), 'a'],
  [web('y'), 'a'],
];
const siblings = () => compileLabelMap({ app: 'web' });

test('PodTopologySpread keeps pods of a set apart by default, over zones before hosts', () => {
  const scores = schedule(createPodTopologySpread(siblings), web('p'), twoOnA);
  assert.ok(typeof scores === 'object');
  const { a = 0, b = 0, c = 0 } = scores;
  assert.ok(c > b && b > a, JSON.stringify(scores));
});

test('PodTopologySpread: a pod without an owner or service is not spread', () => {
  const scores = schedule(
    createPodTopologySpread(() => undefined),
    web('p'),
    twoOnA,
  );
  assert.deepEqual(scores, { a: 0, b: 0, c: 0 });
});

test('PodTopologySpread: constraints of the configuration hold for pods without any', () => {
  const constraint = { maxSkew: 1, topologyKey: HOST, whenUnsatisfiable: 'DoNotSchedule' };
  const plugin = (): SchedulerPlugin => createPodTopologySpread(siblings, { defaultConstraints: [constraint] });
  const scores = schedule(plugin(), web('p'), twoOnA);
  assert.deepEqual(Object.keys(scores).sort(), ['b', 'c'], 'a has too many');
  const own = [{ maxSkew: 9, topologyKey: HOST, whenUnsatisfiable: 'DoNotSchedule' }];
  const pod = web('p');
  const free = schedule(plugin(), { ...pod, spec: { ...pod.spec!, topologySpreadConstraints: own } }, twoOnA);
  assert.deepEqual(Object.keys(free).sort(), ['a', 'b', 'c'], 'who has some of its own is not held to them');
});

test('NodeAffinity: the affinity of a profile is added to every pod', () => {
  const inZone = (zone: string) => ({ matchExpressions: [{ key: ZONE, operator: 'In', values: [zone] }] });
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [inZone('z1')] } };
  const preferred = {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 7, preference: inZone('z2') }],
  };
  assert.deepEqual(schedule(createNodeAffinity({ addedAffinity: preferred }), testPod('p'), []), {
    a: 0,
    b: 0,
    c: 100,
  });
  const onC = testPod('p', { spec: { nodeSelector: { [ZONE]: 'z2' } } });
  assert.equal(
    schedule(createNodeAffinity({ addedAffinity: required }), onC, []),
    "0/3 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity, 2 node(s) didn't match Pod's node affinity/selector.",
  );
});
