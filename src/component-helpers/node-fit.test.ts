import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Node, NodeSelectorRequirement, Pod, PodSpec } from '../api/gen/core-v1.ts';
import { hostPortsCollide, hostPortsOf } from './host-ports.ts';
import { nodeSelectorMatches, preferredNodeAffinityWeight } from './node-affinity.ts';
import { podRequests } from './pod-resources.ts';

const asks = (cpu: string | undefined, memory?: string, more: Partial<Container> = {}): Container => ({
  name: 'c',
  resources: { requests: { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) } },
  ...more,
});
const sidecar = { restartPolicy: 'Always' };
const requestCases: readonly [string, Partial<PodSpec>, [milliCpu: number, memory: number]][] = [
  ['containers add up', { containers: [asks('100m', '1Mi'), asks('200m', '2Mi')] }, [300, 3_145_728]],
  [
    'the largest init container counts if it is more',
    { containers: [asks('100m')], initContainers: [asks('500m'), asks('300m')] },
    [500, 0],
  ],
  [
    'sidecars add to containers',
    { containers: [asks('100m')], initContainers: [asks('50m', undefined, sidecar)] },
    [150, 0],
  ],
  [
    'init containers run beside earlier sidecars',
    {
      containers: [asks('100m')],
      initContainers: [asks('50m', undefined, sidecar), asks('400m'), asks('70m', undefined, sidecar)],
    },
    [450, 0],
  ],
  ['overhead is on top', { containers: [asks('100m')], overhead: { cpu: '10m', memory: '1Mi' } }, [110, 1_048_576]],
  [
    'requests of the pod replace the sum',
    { containers: [asks('100m', '1Mi')], resources: { requests: { cpu: '1' } }, overhead: { cpu: '10m' } },
    [1010, 1_048_576],
  ],
  ['fractions round up', { containers: [asks('0.1m', '0.5')] }, [1, 1]],
  ['nothing', { containers: [asks(undefined)] }, [0, 0]],
];
for (const [name, spec, wanted] of requestCases) {
  test(`requests: ${name}`, () => {
    const { requests } = podRequests({ metadata: {}, spec: { containers: [], ...spec } });
    assert.deepEqual([requests.milliCpu, requests.memoryBytes], wanted);
  });
}

test('requests: during a resize the pod-level status counts, and the overhead once', () => {
  const of = (asked: string, allocated: string, inForce: string): number =>
    podRequests({
      metadata: {},
      spec: { containers: [asks('100m')], resources: { requests: { cpu: asked } }, overhead: { cpu: '10m' } },
      status: { allocatedResources: { cpu: allocated }, resources: { requests: { cpu: inForce } } },
    }).requests.milliCpu;
  assert.equal(of('1', '1010m', '1010m'), 1010);
  assert.equal(of('1', '1010m', '2010m'), 2010);
  assert.equal(of('1', '1510m', '1010m'), 1510);
  assert.equal(of('3', '1010m', '1010m'), 3010);
});

test('requests: defaults for scoring where a container has none; extended resources separately', () => {
  const pod: Pod = {
    metadata: {},
    spec: {
      containers: [
        asks('1'),
        { name: 'd', resources: { requests: { 'example.com/gpu': '2', 'ephemeral-storage': '1Ki' } } },
      ],
    },
  };
  const { requests, nonZero } = podRequests(pod);
  assert.deepEqual(nonZero, { milliCpu: 1100, memoryBytes: 2 * 200 * 1024 * 1024 });
  assert.deepEqual([requests.scalars, requests.ephemeralBytes], [{ 'example.com/gpu': 2 }, 1024]);
  assert.equal(podRequests(pod), podRequests(pod), 'remembered');
});

const node: Node = { metadata: { name: 'n', labels: { disk: 'ssd', cores: '8', empty: '' } } };
const requirement = (key: string, operator: string, ...values: string[]): NodeSelectorRequirement => ({
  key,
  operator,
  ...(values.length === 0 ? {} : { values }),
});
const requirementCases: readonly [NodeSelectorRequirement, boolean][] = [
  [requirement('disk', 'In', 'hdd', 'ssd'), true],
  [requirement('disk', 'In', 'hdd'), false],
  [requirement('none', 'In', ''), false],
  [requirement('empty', 'In', ''), true],
  [requirement('disk', 'NotIn', 'ssd'), false],
  [requirement('none', 'NotIn', 'x'), true],
  [requirement('disk', 'Exists'), true],
  [requirement('none', 'Exists'), false],
  [requirement('none', 'DoesNotExist'), true],
  [requirement('disk', 'DoesNotExist'), false],
  [requirement('cores', 'Gt', '7'), true],
  [requirement('cores', 'Gt', '8'), false],
  [requirement('cores', 'Lt', '10'), true],
  [requirement('disk', 'Gt', '1'), false],
  [requirement('constructor', 'Exists'), false],
  [requirement('disk', 'Unknown'), false],
];
for (const [expression, wanted] of requirementCases) {
  test(`node affinity: ${expression.key} ${expression.operator} ${expression.values?.join(',') ?? ''}`, () => {
    const affinity = {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [expression] }] },
      },
    };
    assert.equal(nodeSelectorMatches({ metadata: {}, spec: { containers: [], affinity } }, node), wanted);
  });
}

test('node affinity: terms are alternatives, an empty one matches nothing, selectors add', () => {
  const pod = (nodeSelectorTerms: object[], nodeSelector: Record<string, string> = {}): Pod => ({
    metadata: {},
    spec: {
      containers: [],
      nodeSelector,
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: nodeSelectorTerms as never },
        },
      },
    },
  });
  const [ssd, hdd] = [
    { matchExpressions: [requirement('disk', 'In', 'ssd')] },
    { matchExpressions: [requirement('disk', 'In', 'hdd')] },
  ];
  assert.equal(nodeSelectorMatches(pod([hdd, ssd]), node), true);
  assert.equal(nodeSelectorMatches(pod([{}]), node), false);
  assert.equal(nodeSelectorMatches(pod([ssd], { disk: 'hdd' }), node), false);
  assert.equal(nodeSelectorMatches(pod([{ matchFields: [requirement('metadata.name', 'In', 'n')] }]), node), true);
  assert.equal(nodeSelectorMatches(pod([{ matchFields: [requirement('metadata.uid', 'In', 'n')] }]), node), false);
});

test('node affinity: preferred weights add up', () => {
  const prefer = (weight: number, value: string) => ({
    weight,
    preference: { matchExpressions: [requirement('disk', 'In', value)] },
  });
  const affinity = {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [prefer(3, 'ssd'), prefer(4, 'ssd'), prefer(5, 'hdd')],
    },
  };
  assert.equal(preferredNodeAffinityWeight({ metadata: {}, spec: { containers: [], affinity } }, node), 7);
});

test('host ports: of containers and sidecars, not of init containers', () => {
  const ports = (hostPort: number, hostIP?: string) => [
    { containerPort: 1, hostPort, ...(hostIP === undefined ? {} : { hostIP }) },
    { containerPort: 2 },
  ];
  const pod: Pod = {
    metadata: {},
    spec: {
      containers: [{ name: 'c', ports: ports(80) }],
      initContainers: [
        { name: 'i', ports: ports(81) },
        { name: 's', restartPolicy: 'Always', ports: ports(82, '10.0.0.1') },
      ],
    },
  };
  assert.deepEqual(hostPortsOf(pod), [
    { ip: '0.0.0.0', protocol: 'TCP', port: 80 },
    { ip: '10.0.0.1', protocol: 'TCP', port: 82 },
  ]);
});

for (const [a, b, wanted] of [
  ['0.0.0.0', '10.0.0.1', true],
  ['10.0.0.1', '10.0.0.2', false],
  ['10.0.0.1', '10.0.0.1', true],
] as const) {
  test(`host ports: ${a} and ${b}`, () => {
    assert.equal(hostPortsCollide({ ip: a, protocol: 'TCP', port: 80 }, { ip: b, protocol: 'TCP', port: 80 }), wanted);
    assert.equal(hostPortsCollide({ ip: a, protocol: 'TCP', port: 80 }, { ip: b, protocol: 'UDP', port: 80 }), false);
  });
}
