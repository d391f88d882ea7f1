import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod, Service } from '../../api/gen/core-v1.ts';
import { compileRequirements, requirementsFromMap } from '../../api/label-selector.ts';
import type { Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import { createSeededRandom } from '../../platform/sim/random.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import { fitErrorMessage } from '../fit-error.ts';
import type { SchedulerConfig } from '../config/scheduler-config.ts';
import { knownPlugins } from '../plugins/list.ts';
import { createProfiles } from '../profiles.ts';
import { schedulePod, type ScheduleResult } from '../schedule-pod.ts';
import { testNode, testPluginDeps, testPod } from '../scheduler-fixture.ts';
import { predicates, PRIORITIES } from './early-names.ts';
import { providerConfig, readPolicy } from './read-policy.ts';

const service: Service = { metadata: { name: 'web', namespace: 'default' }, spec: { selector: { app: 'web' } } };
const deps = testPluginDeps({
  servicesOf: (pod) => (pod.metadata.labels?.['app'] === 'web' ? [service] : []),
  serviceSiblings: (pod) =>
    pod.metadata.labels?.['app'] === 'web' ? compileRequirements(requirementsFromMap({ app: 'web' })) : undefined,
});
const profileOf = (config: SchedulerConfig) => {
  const [profile] = createProfiles(
    { ...deps, known: knownPlugins, recorderFor: () => deps.recorder },
    config.profiles,
  ).values();
  assert.ok(profile !== undefined);
  return profile;
};
const web = (name: string, cpu = '0'): Stored<Pod> => {
  const pod = testPod(name, { cpu, memory: '0' });
  return stored({ ...pod, metadata: { ...pod.metadata, labels: { app: 'web' } } });
};
function schedule(
  config: SchedulerConfig,
  nodes: ReturnType<typeof testNode>[],
  [pod, running]: [Stored<Pod>, [Stored<Pod>, string][]],
): ScheduleResult {
  const cache = createSchedulerCache();
  for (const node of nodes) cache.addNode(node);
  for (const [placed, node] of running) cache.assume(placed, node);
  const input = {
    profile: profileOf(config),
    pod,
    snapshot: cache.snapshot(),
    random: createSeededRandom(1),
    cursor: { startAt: 0 },
  };
  return schedulePod(input, new Map());
}
const scoresOf = (result: ScheduleResult): Record<string, number[]> =>
  result.node === undefined || result.scored === undefined
    ? {}
    : Object.fromEntries(result.scored.parts.map(({ plugin, scores }) => [plugin, [...scores]]));

describe('worked examples of the early formulas', () => {
  // Node a: 3000 of 4000 milli-CPU and 5000 of 10000 bytes requested in total; node b: 3000 of 6000 and 5000 of 10000.
  const nodes = [testNode('a', { cpu: '4', memory: '10000' }), testNode('b', { cpu: '6', memory: '10000' })];
  const result = schedule(providerConfig('DefaultProvider', 's'), nodes, [
    testPod('p', { cpu: '3', memory: '5000' }),
    [],
  ]);

  test('LeastRequestedPriority: a ((1000*10)/4000 = 2, 5) -> 3, b (5, 5) -> 5', () => {
    assert.deepEqual(scoresOf(result)['LeastRequestedPriority'], [3, 5]);
  });
  test('BalancedResourceAllocation: a 10 - |0.75 - 0.5| * 10 = 7, b 10', () => {
    assert.deepEqual(scoresOf(result)['BalancedResourceAllocation'], [7, 10]);
  });
  test('ServiceSpreadingPriority without a service: 10 everywhere', () => {
    assert.deepEqual(scoresOf(result)['ServiceSpreadingPriority'], [10, 10]);
  });
  test('the sums decide', () => assert.equal(result.node, 'b'));

  test('a node used up scores 0 in both', () => {
    const full = schedule(
      providerConfig('DefaultProvider', 's'),
      [testNode('a', { cpu: '4' }), testNode('b', { cpu: '8' })],
      [testPod('p', { cpu: '4' }), []],
    );
    assert.equal(scoresOf(full)['BalancedResourceAllocation']?.[0], 0);
  });

  test('ServiceSpreadingPriority: 10 * (most - here) / most, with 2, 1 and 0 pods of the service', () => {
    const three = ['a', 'b', 'c'].map((name) => testNode(name));
    const running: [Stored<Pod>, string][] = [
      [web('w1'), 'a'],
      [web('w2'), 'a'],
      [web('w3'), 'b'],
    ];
    const spread = schedule(providerConfig('DefaultProvider', 's'), three, [web('w4'), running]);
    assert.deepEqual(scoresOf(spread)['ServiceSpreadingPriority'], [0, 5, 10]);
    assert.equal(spread.node, 'c');
  });
});

test('CalculateNodeLabelPriority: 10 where the label is, 0 elsewhere; and the other way round', () => {
  const nodes = [testNode('a', { labels: { ssd: '' } }), testNode('b')];
  for (const [presence, scores] of [
    [true, [10, 0]],
    [false, [0, 10]],
  ] as const) {
    const policy = {
      kind: 'Policy',
      apiVersion: 'v1',
      predicates: [],
      priorities: [
        { name: 'CalculateNodeLabelPriority', weight: 2, argument: { labelPreference: { label: 'ssd', presence } } },
      ],
    };
    const result = schedule(readPolicy(JSON.stringify(policy), 's'), nodes, [testPod('p'), []]);
    assert.deepEqual(scoresOf(result), { NodeLabel: scores });
    assert.equal(result.node, presence ? 'a' : 'b');
  }
});

test('CheckNodeLabelPresence: nodes without, or with, the label are refused', () => {
  const nodes = [testNode('a', { labels: { retiring: '1' } }), testNode('b')];
  const policy = (presence: boolean) => ({
    predicates: [{ name: 'CheckNodeLabelPresence', argument: { labelsPresence: { labels: ['retiring'], presence } } }],
    priorities: [],
  });
  for (const [presence, node] of [
    [true, 'a'],
    [false, 'b'],
  ] as const)
    assert.equal(schedule(readPolicy(JSON.stringify(policy(presence)), 's'), nodes, [testPod('p'), []]).node, node);
});

test('CheckServiceAffinity: pods of a service follow the first one into its region', () => {
  const nodes = [
    testNode('a', { labels: { region: 'r1' } }),
    testNode('b', { labels: { region: 'r2' } }),
    testNode('c'),
  ];
  const policy = {
    predicates: [{ name: 'CheckServiceAffinity', argument: { serviceAffinity: { labels: ['region'] } } }],
    priorities: [],
  };
  const config = readPolicy(JSON.stringify(policy), 's');
  assert.equal(schedule(config, nodes, [web('w2'), [[web('w1'), 'b']]]).node, 'b');
  const pinned = stored({ ...web('w3'), spec: { ...web('w3').spec, containers: [], nodeSelector: { region: 'r1' } } });
  assert.equal(schedule(config, nodes, [pinned, [[web('w1'), 'b']]]).node, 'a', 'a selector of its own goes first');
});

const filtering: readonly (readonly [string, Stored<Pod>, string])[] = [
  ['PodFitsResources', testPod('p', { cpu: '9' }), 'Insufficient cpu'],
  [
    'PodSelectorMatches',
    testPod('p', { spec: { nodeSelector: { x: 'y' } } }),
    "node(s) didn't match Pod's node affinity/selector",
  ],
  [
    'MatchNodeSelector',
    testPod('p', { spec: { nodeSelector: { x: 'y' } } }),
    "node(s) didn't match Pod's node affinity/selector",
  ],
  ['PodFitsHost', testPod('p', { spec: { nodeName: 'other' } }), "node(s) didn't match the requested node name"],
  ['HostName', testPod('p', { spec: { nodeName: 'other' } }), "node(s) didn't match the requested node name"],
  ['PodFitsPorts', port('p'), "node(s) didn't have free ports for the requested pod ports"],
  ['NoDiskConflict', disk('p'), 'node(s) had no available disk'],
];
function port(name: string): Stored<Pod> {
  return testPod(name, { spec: { containers: [{ name: 'c', ports: [{ containerPort: 80, hostPort: 80 }] }] } });
}
function disk(name: string): Stored<Pod> {
  return testPod(name, { spec: { volumes: [{ name: 'd', gcePersistentDisk: { pdName: 'disk-1' } }] } });
}
for (const [name, pod, reason] of filtering)
  test(`${name} alone refuses the pod of its test`, () => {
    const running: [Stored<Pod>, string][] = [
      [port('q'), 'a'],
      [disk('r'), 'a'],
    ];
    const config = (list: string[]) =>
      readPolicy(JSON.stringify({ predicates: list.map((one) => ({ name: one })), priorities: [] }), 's');
    const result = schedule(config([name]), [testNode('a')], [pod, running]);
    assert.ok(result.node === undefined);
    assert.equal(fitErrorMessage(result.diagnosis), `0/1 nodes are available: 1 ${reason}.`);
    assert.equal(schedule(config([]), [testNode('a')], [pod, running]).node, 'a', 'without it the pod is taken');
  });

const wrong: readonly (readonly [object, RegExp])[] = [
  [{ predicates: [{ name: 'Nope' }] }, /predicates\[0\].name: Invalid value: "Nope": no such predicate/],
  [
    { priorities: [{ name: 'LeastRequestedPriority' }] },
    /Priority LeastRequestedPriority should have a positive weight/,
  ],
  [{ priorities: [{ name: 'Nope', weight: 1 }] }, /priorities\[0\].name: Invalid value: "Nope": no such priority/],
  [{ predicates: [{ name: 'CheckServiceAffinity' }] }, /predicates\[0\].argument.serviceAffinity: Required value/],
  [{ predicate: [] }, /unknown field "predicate"/],
];
for (const [policy, problem] of wrong)
  test(`refused: ${problem.source}`, () => assert.throws(() => readPolicy(JSON.stringify(policy), 's'), problem));

test('every early name leads to plugins there are', () => {
  for (const name of Object.keys(predicates))
    readPolicy(JSON.stringify({ predicates: [{ name }], priorities: [] }), 's');
  for (const name of Object.keys(PRIORITIES))
    profileOf(readPolicy(JSON.stringify({ predicates: [], priorities: [{ name, weight: 1 }] }), 's'));
  assert.throws(() => providerConfig('Nope', 's'), /plugin "Nope" has not been registered/);
});
