/** Arguments of plugins in KubeSchedulerConfiguration: accepted ones, and refused ones with upstream's texts. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readSchedulerConfig } from './read-config.ts';

const HEAD = 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n';
const read = (plugin: string, args: string): unknown =>
  readSchedulerConfig(`${HEAD}profiles:\n- pluginConfig:\n  - name: ${plugin}\n    args: ${args}\n`);

const TERM = '{ nodeSelectorTerms: [{ matchExpressions: [{ key: a, operator: Exists }] }] }';

describe('plugin arguments', () => {
  const refused: [plugin: string, args: string, message: RegExp][] = [
    [
      'NodeResourcesFit',
      '{ scoringStrategy: { type: Least } }',
      /scoringStrategy\.type: (Unsupported|Invalid) value: "?Least"?/,
    ],
    [
      'NodeResourcesFit',
      '{ scoringStrategy: { type: RequestedToCapacityRatio } }',
      /requestedToCapacityRatio\.shape: Required value/,
    ],
    [
      'NodeResourcesFit',
      '{ scoringStrategy: { type: RequestedToCapacityRatio, requestedToCapacityRatio: { shape: [{ utilization: 50, score: 1 }, { utilization: 50, score: 2 }] } } }',
      /utilization values must be sorted in increasing order/,
    ],
    [
      'NodeResourcesFit',
      '{ scoringStrategy: { type: RequestedToCapacityRatio, requestedToCapacityRatio: { shape: [{ utilization: 101, score: 1 }] } } }',
      /utilization: Invalid value: 101/,
    ],
    [
      'NodeResourcesFit',
      '{ scoringStrategy: { type: RequestedToCapacityRatio, requestedToCapacityRatio: { shape: [{ utilization: 1, score: 11 }] } } }',
      /score: Invalid value: 11/,
    ],
    ['NodeResourcesFit', '{ ignoredResourceGroups: [a/b] }', /resource group name can't contain '\/'/],
    [
      'NodeAffinity',
      '{ addedAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } }',
      /nodeSelectorTerms: Required value/,
    ],
    ['NodeAffinity', '{ addedAffinity: { required: 1 } }', /unknown field .*required/],
    [
      'PodTopologySpread',
      '{ defaultConstraints: [{ maxSkew: 1, whenUnsatisfiable: ScheduleAnyway }] }',
      /topologyKey: Required value/,
    ],
    [
      'PodTopologySpread',
      '{ defaultingType: System, defaultConstraints: [{ topologyKey: z, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway }] }',
      /defaultingType: Invalid value: "?System"?: when \.defaultConstraints are not empty/,
    ],
    [
      'PodTopologySpread',
      '{ defaultConstraints: [{ topologyKey: z, maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, labelSelector: {} }] }',
      /labelSelector: Forbidden: constraint must not define a selector/,
    ],
    ['PodTopologySpread', '{ defaultConstraints: [{ topologyKey: z, maxSkew: 0 }] }', /maxSkew: Invalid value: 0/],
    ['DefaultPreemption', '{ minCandidateNodesPercentage: 101 }', /minCandidateNodesPercentage: Invalid value: 101/],
    [
      'DefaultPreemption',
      '{ minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0 }',
      /minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be zero/,
    ],
    ['VolumeBinding', '{ bindTimeoutSeconds: -1 }', /bindTimeoutSeconds: Invalid value: -1/],
    ['InterPodAffinity', '{ hardPodAffinityWeight: 101 }', /hardPodAffinityWeight: Invalid value: 101/],
  ];
  for (const [plugin, args, message] of refused)
    test(`${plugin} ${args} is refused`, () => assert.throws(() => read(plugin, args), message));

  const taken: [plugin: string, args: string][] = [
    [
      'NodeResourcesFit',
      '{ scoringStrategy: { type: RequestedToCapacityRatio, requestedToCapacityRatio: { shape: [{ utilization: 0, score: 0 }, { utilization: 100, score: 10 }] } } }',
    ],
    ['NodeAffinity', `{ addedAffinity: { requiredDuringSchedulingIgnoredDuringExecution: ${TERM} } }`],
    ['PodTopologySpread', '{ defaultConstraints: [{ topologyKey: z, maxSkew: 2, whenUnsatisfiable: DoNotSchedule }] }'],
    ['DefaultPreemption', '{ minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 5 }'],
    ['VolumeBinding', '{ bindTimeoutSeconds: 30 }'],
    ['InterPodAffinity', '{ hardPodAffinityWeight: 100 }'],
  ];
  for (const [plugin, args] of taken)
    test(`${plugin} ${args} is accepted`, () => assert.doesNotThrow(() => read(plugin, args)));
});
