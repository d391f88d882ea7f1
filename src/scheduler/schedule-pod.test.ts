import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { createSchedulerCache } from './cache/scheduler-cache.ts';
import { fitErrorMessage, rejectingPlugins } from './fit-error.ts';
import { createProfile } from './framework/profile.ts';
import { defaultPlugins } from './plugins/list.ts';
import { feasibleNodesToFind, schedulePod } from './schedule-pod.ts';
import { testNode, testPluginDeps, testPod } from './scheduler-fixture.ts';

const plugins = defaultPlugins.map(({ create }) => create(testPluginDeps()));
const profile = createProfile({
  schedulerName: 'default-scheduler',
  plugins,
  weights: Object.fromEntries(defaultPlugins.map(({ weight }, i) => [plugins[i]?.name ?? '', weight])),
});

function schedule(
  nodes: readonly Stored<Node>[],
  pod: Stored<Pod>,
  running: readonly (readonly [Stored<Pod>, string])[] = [],
) {
  const cache = createSchedulerCache();
  for (const node of nodes) cache.addNode(node);
  for (const [placed, node] of running) cache.assume(placed, node);
  return schedulePod(
    { profile, pod, snapshot: cache.snapshot(), random: createSeededRandom(7), cursor: { startAt: 0 } },
    new Map(),
  );
}

const taint = { key: 'dedicated', value: 'x', effect: 'NoSchedule' };

const refusals: readonly {
  name: string;
  nodes: Stored<Node>[];
  pod: Stored<Pod>;
  running?: (readonly [Stored<Pod>, string])[];
  message: string;
  rejectedBy: string[];
}[] = [
  {
    name: 'no nodes',
    nodes: [],
    pod: testPod('p'),
    message: 'no nodes available to schedule pods',
    rejectedBy: ['NodeAffinity', 'NodeName', 'NodeResourcesFit', 'NodeUnschedulable', 'TaintToleration'],
  },
  {
    name: 'too little cpu and memory',
    nodes: [testNode('a', { cpu: '1' }), testNode('b', { memory: '1Gi' })],
    pod: testPod('p', { cpu: '2', memory: '2Gi' }),
    message: '0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.',
    rejectedBy: ['NodeResourcesFit'],
  },
  {
    name: 'no pod slot left',
    nodes: [testNode('a', { pods: '1' })],
    running: [[testPod('q'), 'a']],
    pod: testPod('p'),
    message: '0/1 nodes are available: 1 Too many pods.',
    rejectedBy: ['NodeResourcesFit'],
  },
  {
    name: 'used up by others',
    nodes: [testNode('a', { cpu: '2' })],
    running: [[testPod('q', { cpu: '1500m' }), 'a']],
    pod: testPod('p', { cpu: '600m' }),
    message: '0/1 nodes are available: 1 Insufficient cpu.',
    rejectedBy: ['NodeResourcesFit'],
  },
  {
    name: 'tainted and cordoned',
    nodes: [testNode('a', { spec: { taints: [taint] } }), testNode('b', { spec: { unschedulable: true } })],
    pod: testPod('p'),
    message: '0/2 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable.',
    rejectedBy: ['NodeUnschedulable', 'TaintToleration'],
  },
  {
    name: 'selector',
    nodes: [testNode('a'), testNode('b')],
    pod: testPod('p', { spec: { nodeSelector: { disk: 'ssd' } } }),
    message: "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    rejectedBy: ['NodeAffinity'],
  },
  {
    name: 'host port',
    nodes: [testNode('a')],
    running: [
      [testPod('q', { spec: { containers: [{ name: 'c', ports: [{ containerPort: 1, hostPort: 80 }] }] } }), 'a'],
    ],
    pod: testPod('p', {
      spec: { containers: [{ name: 'c', ports: [{ containerPort: 1, hostPort: 80, hostIP: '10.0.0.1' }] }] },
    }),
    message: "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    rejectedBy: ['NodePorts'],
  },
];

for (const { name, nodes, pod, running, message, rejectedBy } of refusals) {
  test(`a pod fits nowhere: ${name}`, () => {
    const result = schedule(nodes, pod, running);
    assert.equal(result.node, undefined);
    assert.ok(result.node === undefined);
    assert.equal(fitErrorMessage(result.diagnosis), message);
    assert.deepEqual([...rejectingPlugins(result.diagnosis)].sort(), rejectedBy);
  });
}

test('the least allocated node wins', () => {
  const busy = testPod('q', { cpu: '3', memory: '6Gi' });
  assert.equal(
    schedule([testNode('a'), testNode('b')], testPod('p', { cpu: '500m', memory: '1Gi' }), [[busy, 'a']]).node,
    'b',
  );
});

test('a preferred node affinity outweighs allocation', () => {
  const pod = testPod('p', {
    cpu: '100m',
    spec: {
      affinity: {
        nodeAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 50, preference: { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] } },
          ],
        },
      },
    },
  });
  assert.equal(
    schedule([testNode('a', { labels: { disk: 'ssd' } }), testNode('b')], pod, [[testPod('q', { cpu: '1' }), 'a']])
      .node,
    'a',
  );
});

test('PreferNoSchedule taints are avoided', () => {
  const nodes = [testNode('a', { spec: { taints: [{ key: 'x', effect: 'PreferNoSchedule' }] } }), testNode('b')];
  assert.equal(schedule(nodes, testPod('p')).node, 'b');
});

test('a DaemonSet pod evaluates only its own node', () => {
  const affinity = {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] }],
      },
    },
  };
  assert.equal(schedule([testNode('a'), testNode('b')], testPod('p', { spec: { affinity } })).node, 'b');
});

test('samples as upstream does', () => {
  for (const [nodes, wanted] of [
    [10, 10],
    [99, 99],
    [100, 100],
    [1000, 420],
    [5000, 500],
    [15_000, 750],
  ] as const)
    assert.equal(feasibleNodesToFind(nodes), wanted, String(nodes));
});
