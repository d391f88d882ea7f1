/** Tables of admission. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, Pod, PodSpec } from '../../api/gen/core-v1.ts';
import { canAdmitPod, type AdmissionInput } from './predicate.ts';

const node: Node = {
  metadata: { name: 'n', labels: { disk: 'ssd', 'kubernetes.io/os': 'linux', cores: '4' } },
  spec: {
    taints: [
      { key: 'gone', effect: 'NoExecute' },
      { key: 'busy', effect: 'NoSchedule' },
    ],
  },
  status: { allocatable: { cpu: '2', memory: '1Gi', pods: '3' } },
};
const none: AdmissionInput['others'] = { count: 0, active: () => [] };
const bears = [{ key: 'gone', operator: 'Exists' }];

function pod(spec: Partial<PodSpec>, annotations?: Record<string, string>): Pod {
  return {
    metadata: { name: 'p', ...(annotations === undefined ? {} : { annotations }) },
    spec: { containers: [{ name: 'app' }], tolerations: bears, ...spec },
  };
}

const requests = (cpu: string): Partial<PodSpec> => ({
  containers: [{ name: 'app', resources: { requests: { cpu } } }],
});
const required = (key: string, operator: string, values?: string[]): Partial<PodSpec> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, ...(values === undefined ? {} : { values }) }] }],
      },
    },
  },
});
const hostPort = (port: number, hostIP?: string): Partial<PodSpec> => ({
  containers: [
    { name: 'app', ports: [{ containerPort: 80, hostPort: port, ...(hostIP === undefined ? {} : { hostIP }) }] },
  ],
});

interface Case {
  readonly name: string;
  readonly pod: Pod;
  readonly active?: readonly Pod[];
  readonly unsafe?: readonly string[];
  readonly reason?: string;
  readonly message?: string;
}

const cases: readonly Case[] = [
  { name: 'a plain pod', pod: pod({}) },
  { name: 'enough cpu', pod: pod(requests('1500m')), active: [pod(requests('500m'))] },
  {
    name: 'too little cpu',
    pod: pod(requests('1501m')),
    active: [pod(requests('500m'))],
    reason: 'OutOfcpu',
    message: "Node didn't have enough resource: cpu, requested: 1501, used: 500, capacity: 2000",
  },
  {
    name: 'too many pods',
    pod: pod({}),
    active: [pod({}), pod({}), pod({})],
    reason: 'OutOfpods',
    message: "Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
  },
  { name: 'selector', pod: pod({ nodeSelector: { disk: 'ssd' } }) },
  {
    name: 'selector not met',
    pod: pod({ nodeSelector: { disk: 'hdd' } }),
    reason: 'NodeAffinity',
    message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  },
  { name: 'affinity In', pod: pod(required('disk', 'In', ['hdd', 'ssd'])) },
  { name: 'affinity NotIn', pod: pod(required('disk', 'NotIn', ['ssd'])), reason: 'NodeAffinity' },
  { name: 'affinity Exists', pod: pod(required('nope', 'Exists')), reason: 'NodeAffinity' },
  { name: 'affinity Gt', pod: pod(required('cores', 'Gt', ['3'])) },
  { name: 'affinity Lt', pod: pod(required('cores', 'Lt', ['4'])), reason: 'NodeAffinity' },
  { name: 'untolerated NoExecute', pod: pod({ tolerations: [] }), reason: 'TaintToleration' },
  {
    name: 'static pods bear all taints',
    pod: pod({ tolerations: [], nodeSelector: { disk: 'hdd' } }, { 'kubernetes.io/config.source': 'file' }),
  },
  { name: 'host port taken', pod: pod(hostPort(80)), active: [pod(hostPort(80, '10.0.0.1'))], reason: 'NodePorts' },
  { name: 'host port on another address', pod: pod(hostPort(80, '10.0.0.2')), active: [pod(hostPort(80, '10.0.0.1'))] },
  { name: 'another system', pod: pod({ os: { name: 'windows' } }), reason: 'PodOSNotSupported' },
  {
    name: 'safe sysctl',
    pod: pod({ securityContext: { sysctls: [{ name: 'net/ipv4/tcp_syncookies', value: '1' }] } }),
  },
  {
    name: 'unsafe sysctl',
    pod: pod({ securityContext: { sysctls: [{ name: 'net.core.somaxconn', value: '1' }] } }),
    reason: 'SysctlForbidden',
    message: 'forbidden sysctl: "net.core.somaxconn" not allowlisted',
  },
  {
    name: 'unsafe sysctl that is allowed',
    pod: pod({ securityContext: { sysctls: [{ name: 'net.core.somaxconn', value: '1' }] } }),
    unsafe: ['net.core.*'],
  },
  {
    name: 'sysctl of the host',
    pod: pod({ hostNetwork: true, securityContext: { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] } }),
    reason: 'SysctlForbidden',
  },
];

describe('extended resources', () => {
  const gpu = 'example.com/gpu';
  const served = (resourceName: string): NonNullable<Pod['status']> => ({
    extendedResourceClaimStatus: {
      resourceClaimName: 'c',
      requestMappings: [{ containerName: 'app', resourceName, requestName: 'r' }],
    },
  });
  const rows: [what: string, has: string | undefined, status: Pod['status'], reason: string | undefined][] = [
    ['that no plugin ever had are others’ business', undefined, undefined, undefined],
    ['whose plugin is gone are refused', '0', undefined, `OutOf${gpu}`],
    ['whose plugin is gone come from a claim', '0', served(gpu), undefined],
    ['whose plugin is gone are refused with a claim for others', '0', served('example.com/nic'), `OutOf${gpu}`],
    ['that a plugin has too few of are refused', '1', undefined, `OutOf${gpu}`],
    ['that a plugin has are let in', '2', undefined, undefined],
  ];
  for (const [what, has, status, reason] of rows)
    it(what, () => {
      const allocatable = { ...node.status!.allocatable, ...(has !== undefined && { [gpu]: has }) };
      const result = canAdmitPod({
        pod: {
          ...pod({ containers: [{ name: 'app', resources: { requests: { [gpu]: '2' } } }] }),
          ...(status && { status }),
        },
        node: { ...node, status: { allocatable } },
        others: none,
        operatingSystem: 'linux',
        allowedUnsafeSysctls: [],
      });
      assert.equal(result.admit ? undefined : result.reason, reason);
    });
});

describe('admission', () => {
  for (const { name, pod: given, active = [], unsafe = [], reason, message } of cases) {
    it(name, () => {
      const input: AdmissionInput = {
        pod: given,
        node,
        others: { count: active.length, active: () => active },
        operatingSystem: 'linux',
        allowedUnsafeSysctls: unsafe,
      };
      const result = canAdmitPod(input);
      assert.equal(result.admit ? undefined : result.reason, reason);
      if (message !== undefined) assert.equal(result.admit ? undefined : result.message, message);
    });
  }

  const admits = (given: Pod, others: AdmissionInput['others']): boolean =>
    canAdmitPod({ pod: given, node, others, operatingSystem: 'linux', allowedUnsafeSysctls: [] }).admit;

  it('counts only pods that hold something against the number of pods', () => {
    assert.equal(admits(pod({}), { count: 3, active: () => [pod({}), pod({})] }), true);
    assert.equal(admits(pod({}), { count: 3, active: () => [pod({}), pod({}), pod({})] }), false);
  });

  it('reads no other pods for a pod without requests where there is a free slot', () => {
    const others = { count: 2, active: () => assert.fail('not to be asked') };
    assert.equal(admits(pod({}), others), true);
  });

  it('needs the node only for checks about the node', () => {
    const input: AdmissionInput = {
      pod: pod(requests('1000')),
      node: undefined,
      others: none,
      operatingSystem: 'linux',
      allowedUnsafeSysctls: [],
    };
    assert.equal(canAdmitPod(input).admit, true);
  });
});

describe('features of the kubelet', () => {
  const needing: Partial<PodSpec> = {
    containers: [{ name: 'app', restartPolicyRules: [{ action: 'RestartAllContainers' }] }],
  };
  const RESTART = 'RestartAllContainersOnContainerExits';
  const refused = `Pod requires node features that are not available: ${RESTART}`;
  const rows: [what: string, spec: Partial<PodSpec>, declared: string[] | undefined, message: string | undefined][] = [
    ['that it has', needing, [RESTART], undefined],
    ['that it lacks', needing, [], refused],
    ['that nobody needs', {}, [], undefined],
    ['of a kubelet that declares none', needing, undefined, undefined],
  ];
  for (const [what, spec, declaredFeatures, message] of rows)
    it(what, () => {
      const result = canAdmitPod({
        pod: pod(spec),
        node,
        others: none,
        operatingSystem: 'linux',
        allowedUnsafeSysctls: [],
        ...(declaredFeatures && { declaredFeatures }),
      });
      assert.deepEqual(
        result.admit ? [] : [result.reason, result.message],
        message === undefined ? [] : ['PodFeatureUnsupported', message],
      );
    });
});

describe('namespaces of the host', () => {
  const file = { 'kubernetes.io/config.source': 'file' };
  const http = { 'kubernetes.io/config.source': 'http' };
  const uses: Partial<PodSpec>[] = [{ hostNetwork: true }, { hostPID: true }, { hostIPC: true }];
  const sources = (list: string[]) => ({ network: list, pid: list, ipc: list });
  const rows: { list: string[]; annotations?: Record<string, string>; admitted: boolean }[] = [
    { list: ['*'], admitted: true },
    { list: ['api'], admitted: true },
    { list: ['file', 'http'], admitted: false },
    { list: [], annotations: file, admitted: false },
    { list: ['file'], annotations: file, admitted: true },
    { list: ['file'], annotations: http, admitted: false },
    { list: ['file', 'http'], annotations: http, admitted: true },
  ];
  const result = (spec: Partial<PodSpec>, row: (typeof rows)[number]) =>
    canAdmitPod({
      pod: pod(spec, row.annotations),
      node,
      others: none,
      operatingSystem: 'linux',
      allowedUnsafeSysctls: [],
      hostNamespaceSources: sources(row.list),
    });
  for (const row of rows)
    it(`of ${row.annotations?.['kubernetes.io/config.source'] ?? 'api'} where [${row.list}] may`, () => {
      for (const spec of uses) {
        const given = result(spec, row);
        assert.equal(given.admit, row.admitted, JSON.stringify(spec));
        if (!given.admit) assert.equal(given.reason, 'HostNamespaceForbidden');
      }
      assert.equal(result({}, row).admit, true, 'a pod that uses none of them');
    });

  it('are forbidden each by itself, with the name of the field', () => {
    const only = (spec: Partial<PodSpec>) =>
      canAdmitPod({
        pod: pod(spec),
        node,
        others: none,
        operatingSystem: 'linux',
        allowedUnsafeSysctls: [],
        hostNamespaceSources: { network: ['*'], pid: ['file'], ipc: ['*'] },
      });
    assert.equal(only({ hostNetwork: true, hostIPC: true }).admit, true);
    const refused = only({ hostPID: true });
    assert.ok(!refused.admit);
    assert.match(refused.message, /specified hostPID, but is disallowed: pods of source api may not use it/);
  });
});
