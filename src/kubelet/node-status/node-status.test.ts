/** Node status setters and registration. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseTime } from '../../api/time.ts';
import { kubeletConfiguration } from '../kubelet-defaults.ts';
import type { NodeFacts } from './node-facts.ts';
import { nodeStatusHasChanged, nodeStatusPatch } from './node-status-patch.ts';
import { initialNode, reconcileExistingNode } from './registration.ts';
import { applyNodeStatusSetters } from './setters.ts';

const config = kubeletConfiguration({ nodeName: 'n1', rootDirectory: '/k' });

function facts(changes: Partial<NodeFacts> = {}): NodeFacts {
  return {
    config,
    nowMs: parseTime('2026-01-01T00:00:00Z'),
    nodeIps: ['10.0.0.1'],
    devices: { capacity: {}, allocatable: {} },
    host: {
      hostname: 'n1',
      machineId: 'm',
      systemUuid: 's',
      bootId: 'b',
      kernelVersion: '6.1',
      osImage: 'Debian',
      operatingSystem: 'linux',
      architecture: 'amd64',
      cpuCount: 4,
      memoryBytes: 8 * 1024 ** 3,
      swapBytes: 0,
      pidMax: 32_768,
      hugePages: [{ pageSizeBytes: 2 * 1024 ** 2, count: 512 }],
    },
    rootFs: { totalBytes: 100 * 1024 ** 3, availableBytes: 1, totalInodes: 1, availableInodes: 1 },
    runtime: {
      runtimeReady: true,
      networkReady: true,
      message: '',
      runtimeName: 'containerd',
      runtimeVersion: '1.6.20',
      runtimeHandlers: [],
    },
    images: [],
    volumesInUse: [],
    runtimeErrors: [],
    networkErrors: [],
    pressure: { memory: false, disk: false, pid: false },
    ...changes,
  };
}

const conditionsOf = (given: NodeFacts) =>
  applyNodeStatusSetters({}, given).conditions?.map(({ type, status, reason, message }) => [
    type,
    status,
    reason,
    message,
  ]);

describe('node status', () => {
  it('declares features that not every kubelet has, and removes those it no longer has', () => {
    const declared = applyNodeStatusSetters({}, facts()).declaredFeatures;
    assert.deepEqual(declared, [
      'InPlacePodLevelResourcesVerticalScaling',
      'InPlacePodVerticalScalingInitContainers',
      'RestartAllContainersOnContainerExits',
    ]);
    const before = { declaredFeatures: ['Gone'] };
    for (const declaredFeatures of [undefined, []]) {
      const given = kubeletConfiguration({ ...config, declaredFeatures });
      assert.equal('declaredFeatures' in applyNodeStatusSetters(before, facts({ config: given })), false);
    }
  });

  it('reports capacity, and allocatable without reservations, thresholds and huge pages', () => {
    const reserved = kubeletConfiguration({
      ...config,
      systemReserved: { cpu: '500m', memory: '1Gi' },
      kubeReserved: { cpu: '500m' },
    });
    const status = applyNodeStatusSetters({}, facts({ config: reserved }));
    assert.deepEqual(status.capacity, {
      cpu: '4',
      'ephemeral-storage': '100Gi',
      'hugepages-2Mi': '1Gi',
      memory: '8Gi',
      pods: '110',
    });
    assert.deepEqual(status.allocatable, {
      cpu: '3',
      'ephemeral-storage': '90Gi',
      'hugepages-2Mi': '1Gi',
      memory: '6044Mi',
      pods: '110',
    });
  });

  it('limits pods per core, and in total', () => {
    for (const [podsPerCore, maxPods, expected] of [
      [0, 110, '110'],
      [5, 110, '20'],
      [50, 110, '110'],
    ] as const) {
      const given = kubeletConfiguration({ ...config, podsPerCore, maxPods });
      assert.equal(applyNodeStatusSetters({}, facts({ config: given })).capacity?.['pods'], expected);
    }
  });

  it('reports Ready with the texts of upstream', () => {
    assert.deepEqual(conditionsOf(facts()), [
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
      ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
    ]);
  });

  const troubles: readonly { name: string; changes: Partial<NodeFacts>; condition: readonly unknown[] }[] = [
    {
      name: 'runtime',
      changes: { runtimeErrors: ['container runtime is down'] },
      condition: ['Ready', 'False', 'KubeletNotReady', 'container runtime is down'],
    },
    {
      name: 'several',
      changes: { runtimeErrors: ['a'], networkErrors: ['b'] },
      condition: ['Ready', 'False', 'KubeletNotReady', '[a, b]'],
    },
    {
      name: 'capacity',
      changes: { rootFs: undefined },
      condition: ['Ready', 'False', 'KubeletNotReady', 'missing node capacity for resources: ephemeral-storage'],
    },
    {
      name: 'memory',
      changes: { pressure: { memory: true, disk: false, pid: false } },
      condition: [
        'MemoryPressure',
        'True',
        'KubeletHasInsufficientMemory',
        'kubelet has insufficient memory available',
      ],
    },
  ];
  for (const { name, changes, condition } of troubles) {
    it(`reports trouble: ${name}`, () =>
      assert.ok(conditionsOf(facts(changes))?.some((found) => JSON.stringify(found) === JSON.stringify(condition))));
  }

  it('lists the largest images and five names of each', () => {
    const images = Array.from({ length: 60 }, (_, index) => ({
      id: `i${index}`,
      repoTags: ['a', 'b', 'c', 'd', 'e', 'f'],
      repoDigests: [`d${index}`],
      sizeBytes: index,
      pinned: false,
    }));
    const status = applyNodeStatusSetters({}, facts({ images }));
    assert.equal(status.images?.length, 50);
    assert.deepEqual(status.images?.[0], { names: ['d59', 'a', 'b', 'c', 'd'], sizeBytes: 59 });
  });

  it('lets extended resources be allocated that others put there; keeps transition times', () => {
    const before = {
      capacity: { 'x.io/gpu': '2', cpu: '1' },
      allocatable: { 'x.io/gone': '1', cpu: '1' },
      conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: 'then' }],
    };
    const after = applyNodeStatusSetters(before, facts());
    assert.deepEqual(
      [after.capacity, after.allocatable].map((resources) => [resources?.['x.io/gpu'], resources?.['x.io/gone']]),
      [
        ['2', undefined],
        ['2', undefined],
      ],
    );
    assert.equal(after.capacity?.['cpu'], '4');
    assert.equal(after.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime, 'then');
  });

  it('changes by more than heartbeats, and patches addresses whole', () => {
    const before = applyNodeStatusSetters({}, facts());
    const later = applyNodeStatusSetters(before, facts({ nowMs: parseTime('2026-01-02T00:00:00Z') }));
    assert.equal(nodeStatusHasChanged(before, later), false);
    const moved = applyNodeStatusSetters(before, facts({ nodeIps: ['10.0.0.2'] }));
    assert.equal(nodeStatusHasChanged(before, moved), true);
    assert.deepEqual(nodeStatusPatch(before, moved), {
      status: {
        addresses: [
          { $patch: 'replace' },
          { address: '10.0.0.2', type: 'InternalIP' },
          { address: 'n1', type: 'Hostname' },
        ],
      },
    });
    assert.equal(nodeStatusPatch(before, before), undefined);
  });

  it('registers with labels, taints and annotation, and puts right an old node', () => {
    const tainted = kubeletConfiguration({
      ...config,
      registerWithTaints: [{ key: 'k', effect: 'NoSchedule' }],
      registerSchedulable: false,
      nodeLabels: { role: 'x' },
    });
    const node = initialNode(facts({ config: tainted }), {});
    assert.deepEqual(
      node.spec?.taints?.map(({ key }) => key),
      ['k', 'node.kubernetes.io/unschedulable'],
    );
    assert.equal(node.metadata.labels?.['role'], 'x');
    assert.equal(node.metadata.annotations?.['volumes.kubernetes.io/controller-managed-attach-detach'], 'true');
    assert.equal(reconcileExistingNode(facts({ config: tainted }), node), undefined);
    const { role: _role, ...labels } = node.metadata.labels!;
    assert.deepEqual(
      reconcileExistingNode(facts({ config: tainted }), { ...node, metadata: { ...node.metadata, labels } }),
      { metadata: { labels: { role: 'x' } } },
    );
  });

  it('reports the folder of local-path volumes', () => {
    const keeping = facts({ config: { ...config, localPathRoot: '/data/local-path' } });
    const wanted = { 'keelson.dev/local-path': '/data/local-path' };
    const { annotations } = initialNode(keeping, {}).metadata;
    assert.equal(annotations?.['keelson.dev/local-path'], '/data/local-path');
    assert.equal(initialNode(facts(), {}).metadata.annotations?.['keelson.dev/local-path'], undefined);
    assert.deepEqual(reconcileExistingNode(keeping, initialNode(facts(), {})), { metadata: { annotations: wanted } });
    assert.equal(reconcileExistingNode(keeping, initialNode(keeping, {})), undefined);
  });

  it('waits for the controller of its cloud, and leaves it the addresses', () => {
    const cloud = (nodeIps: readonly string[]) => facts({ config: { ...config, externalCloud: true, nodeIps } });
    const { spec, metadata, status } = initialNode(cloud([]), applyNodeStatusSetters({}, cloud([])));
    const taint = { key: 'node.cloudprovider.kubernetes.io/uninitialized', value: 'true', effect: 'NoSchedule' };
    assert.deepEqual(spec?.taints, [taint]);
    assert.equal(metadata.annotations?.['alpha.kubernetes.io/provided-node-ip'], undefined);
    assert.equal(status?.addresses, undefined, 'the controller finds them');
    const given = cloud(['10.0.0.1']);
    assert.equal(initialNode(given, {}).metadata.annotations?.['alpha.kubernetes.io/provided-node-ip'], '10.0.0.1');
    const found = [
      { type: 'InternalIP', address: '10.0.0.1' },
      { type: 'Hostname', address: 'n1' },
    ];
    assert.deepEqual(applyNodeStatusSetters({}, given).addresses, found, 'until the controller comes');
    const addresses = [{ type: 'ExternalIP', address: '192.0.2.1' }];
    assert.deepEqual(applyNodeStatusSetters({ addresses }, given).addresses, addresses);
    assert.deepEqual(applyNodeStatusSetters({ addresses }, facts()).addresses, found, 'without a cloud');
  });

  it('bears the mark of the attaching controller unless its kubelet attaches for itself', () => {
    const mark = 'volumes.kubernetes.io/controller-managed-attach-detach';
    const volumes = { ...config.volumes, attachesItself: true };
    const alone = facts({ config: kubeletConfiguration({ ...config, volumes }) });
    assert.equal(initialNode(alone, {}).metadata.annotations?.[mark], undefined);
    assert.deepEqual(reconcileExistingNode(alone, initialNode(facts(), {})), {
      metadata: { annotations: { [mark]: null } },
    });
    assert.equal(reconcileExistingNode(alone, initialNode(alone, {})), undefined);
  });
});
