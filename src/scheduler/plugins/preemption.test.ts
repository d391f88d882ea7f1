import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../api/time.ts';
import type { Node, Pod, PodSpec } from '../../api/gen/core-v1.ts';
import type { PodDisruptionBudget } from '../../api/gen/policy-v1.ts';
import type { Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import { createProfile } from '../framework/profile.ts';
import { createNominator } from '../framework/nominations.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import { schedulePod } from '../schedule-pod.ts';
import { testNode, testPluginDeps, testPod } from '../scheduler-fixture.ts';
import { createInterPodAffinity } from './inter-pod-affinity/inter-pod-affinity.ts';
import { createNodeResourcesFit } from './node-resources-fit/node-resources-fit.ts';
import { createNodeUnschedulable } from './node-unschedulable/node-unschedulable.ts';
import { createDefaultPreemption } from './default-preemption/default-preemption.ts';
import { GuardingBudgets } from './default-preemption/guarding-budgets.ts';
import { bestCandidate, selectVictims } from './default-preemption/victims.ts';

interface Scene {
  readonly nodes: readonly Stored<Node>[];
  readonly pod: Stored<Pod>;
  readonly running: readonly (readonly [Stored<Pod>, string])[];
  readonly budgets?: readonly PodDisruptionBudget[];
}
const low = (
  name: string,
  cpu: string,
  priority = 0,
  more: { labels?: Record<string, string>; startTime?: string } = {},
): Stored<Pod> => {
  const pod = testPod(name, { cpu, priority });
  return stored({
    ...pod,
    metadata: { ...pod.metadata, labels: more.labels ?? {} },
    status: { startTime: more.startTime ?? '2026-01-01T00:00:00Z' },
  });
};
const high = (cpu: string, spec: Partial<PodSpec> = {}): Stored<Pod> => testPod('p', { cpu, priority: 10, spec });

function preempt({ nodes, pod, running, budgets = [] }: Scene): { node: string; victims: string[]; message: string } {
  const filters: SchedulerPlugin[] = [
    createNodeUnschedulable(),
    createNodeResourcesFit(),
    createInterPodAffinity(() => undefined),
  ];
  const cache = createSchedulerCache();
  for (const node of nodes) cache.addNode(node);
  for (const [placed, node] of running) cache.assume(placed, node);
  const snapshot = cache.snapshot();
  const state = new Map<string, unknown>();
  const profile = createProfile({ schedulerName: 's', plugins: filters, weights: {} });
  const result = schedulePod({ profile, pod, snapshot, random: createSeededRandom(1), cursor: { startAt: 0 } }, state);
  assert.ok(result.node === undefined, 'the pod must not fit');
  const nominations = createNominator();
  const plugin = createDefaultPreemption(testPluginDeps({ budgets: () => budgets }));
  const { statuses } = result.diagnosis;
  const done = plugin.postFilter?.(state, pod, { snapshot, statuses, filters: result.filters, nominations });
  assert.ok(done !== undefined && !(done instanceof Promise), 'nobody else is asked');
  const { nominatedNode = '', message = '' } = done;
  const info = snapshot.byName(nominatedNode);
  const found =
    info === undefined
      ? undefined
      : selectVictims(
          { pod, state, filters: result.filters, nominations, budgets: new GuardingBudgets(budgets) },
          info,
        );
  return {
    node: nominatedNode,
    victims: found !== undefined && 'victims' in found ? found.victims.map((v) => v.metadata.name) : [],
    message,
  };
}

const one = [testNode('a', { cpu: '4' })];
const two = [testNode('a', { cpu: '4' }), testNode('b', { cpu: '4' })];
const budget: PodDisruptionBudget = {
  metadata: { name: 'pdb', namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'guarded' } } },
  status: { disruptionsAllowed: 0 } as never,
};
const guarded = { labels: { app: 'guarded' } };
const away = {
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'guarded' } } },
      ],
    },
  },
};

const found: readonly [string, Scene, string, string[]][] = [
  ['the only node', { nodes: one, pod: high('2'), running: [[low('x', '3'), 'a']] }, 'a', ['x']],
  [
    'no more than needed',
    {
      nodes: one,
      pod: high('2'),
      running: [
        [low('x', '2'), 'a'],
        [low('y', '2', 1), 'a'],
      ],
    },
    'a',
    ['x'],
  ],
  [
    'who runs longer stays',
    {
      nodes: one,
      pod: high('2'),
      running: [
        [low('x', '2'), 'a'],
        [low('y', '2', 0, { startTime: '2026-01-02T00:00:00Z' }), 'a'],
      ],
    },
    'a',
    ['y'],
  ],
  [
    'less important victims',
    {
      nodes: two,
      pod: high('2'),
      running: [
        [low('x', '3', 5), 'a'],
        [low('y', '3', 4), 'b'],
      ],
    },
    'b',
    ['y'],
  ],
  [
    'fewer victims',
    {
      nodes: two,
      pod: high('4'),
      running: [
        [low('x', '2'), 'a'],
        [low('y', '2'), 'a'],
        [low('z', '4'), 'b'],
      ],
    },
    'b',
    ['z'],
  ],
  [
    'a budget is kept where it can be',
    {
      nodes: two,
      pod: high('2'),
      running: [
        [low('x', '3', 0, guarded), 'a'],
        [low('y', '3', 9), 'b'],
      ],
      budgets: [budget],
    },
    'b',
    ['y'],
  ],
  [
    'and broken where it cannot',
    { nodes: one, pod: high('2'), running: [[low('x', '3', 0, guarded), 'a']], budgets: [budget] },
    'a',
    ['x'],
  ],
  [
    'guarded pods are spared first',
    {
      nodes: one,
      pod: high('2'),
      running: [
        [low('x', '2', 0, guarded), 'a'],
        [low('y', '2', 3), 'a'],
      ],
      budgets: [budget],
    },
    'a',
    ['y'],
  ],
  [
    'for anti-affinity',
    {
      nodes: one,
      pod: high('1', away),
      running: [
        [low('x', '1', 0, guarded), 'a'],
        [low('y', '1'), 'a'],
      ],
    },
    'a',
    ['x'],
  ],
];
for (const [name, scene, node, victims] of found)
  test(`preemption: ${name}`, () => assert.deepEqual(preempt(scene), { node, victims, message: '' }));

const cordoned = testNode('c', { spec: { unschedulable: true } });
const refused: readonly [string, Scene, string][] = [
  [
    'nobody is less important',
    { nodes: one, pod: high('2'), running: [[low('x', '3', 10), 'a']] },
    'preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.',
  ],
  [
    'it would not help',
    { nodes: [testNode('a', { cpu: '1' }), cordoned], pod: high('2'), running: [[low('x', '1'), 'a']] },
    'preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.',
  ],
  [
    'not enough',
    {
      nodes: one,
      pod: high('3'),
      running: [
        [low('x', '1'), 'a'],
        [low('y', '2', 11), 'a'],
      ],
    },
    'preemption: 0/1 nodes are available: 1 Insufficient cpu.',
  ],
  [
    'the pod does not want to',
    { nodes: one, pod: high('2', { preemptionPolicy: 'Never' }), running: [[low('x', '3'), 'a']] },
    'preemption: not eligible due to preemptionPolicy=Never.',
  ],
];
for (const [name, scene, message] of refused)
  test(`no preemption: ${name}`, () => assert.deepEqual(preempt(scene), { node: '', victims: [], message }));

test('not again while earlier victims are leaving', () => {
  const leaving = low('x', '3');
  const pod = { ...high('2'), status: { nominatedNodeName: 'a' } };
  const running = [
    [{ ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }, 'a'],
  ] as const;
  assert.equal(
    preempt({ nodes: one, pod, running }).message,
    'preemption: not eligible due to a terminating pod on the nominated node.',
  );
});

test('of equal victims the one that started last is chosen', () => {
  const candidate = (node: string, startTime: string) => ({
    node,
    victims: [low(node, '1', 0, { startTime })],
    violations: 0,
    earliestStartMs: parseTime(startTime),
    highestPriority: 0,
    prioritySum: 2 ** 31,
  });
  assert.equal(
    bestCandidate([
      candidate('a', '2026-01-01T00:00:00Z'),
      candidate('b', '2026-01-03T00:00:00Z'),
      candidate('c', '2026-01-02T00:00:00Z'),
    ]).node,
    'b',
  );
});
