/**
 * The events of each plugin, compared with upstream's EventsToRegister, also for storage objects and changes of a waiting pod
 * itself.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import { eventLabel, type ClusterEvent } from '../queue/cluster-event.ts';
import { testNode, testPluginDeps, testPod } from '../scheduler-fixture.ts';
import { defaultPlugins } from './list.ts';

const deps = testPluginDeps({
  extendedResourceClass: (name) =>
    name === 'example.com/gpu' ? { metadata: { name: 'gpus' }, spec: { extendedResourceName: name } } : undefined,
});
const pluginOf = (name: string): SchedulerPlugin => {
  const entry = defaultPlugins.find((plugin) => plugin.name === name);
  assert.ok(entry !== undefined, name);
  return entry.create(deps);
};

describe('events a plugin waits for', () => {
  const NODES = ['NodeAdd', 'NodeUpdateNodeLabel'];
  const PODS = ['AssignedPodAdd', 'AssignedPodUpdate', 'AssignedPodDelete', 'UnschedulablePodUpdate'];
  const CLAIMS = ['PersistentVolumeClaimAdd', 'PersistentVolumeClaimUpdate'];
  const VOLUMES = ['PersistentVolumeAdd', 'PersistentVolumeUpdate'];
  const CLASSES = ['DeviceClassAdd', 'DeviceClassUpdate'];
  const cases: Readonly<Record<string, readonly string[]>> = {
    SchedulingGates: ['UnschedulablePodUpdate'],
    PrioritySort: [],
    NodeUnschedulable: ['NodeAdd', 'NodeUpdateNodeTaint', 'UnschedulablePodUpdate'],
    NodeName: ['NodeAdd'],
    TaintToleration: ['NodeAdd', 'NodeUpdateNodeTaint', 'UnschedulablePodUpdate'],
    NodeAffinity: NODES,
    NodePorts: ['NodeAdd', 'AssignedPodDelete'],
    NodeResourcesFit: [
      'NodeAdd',
      'NodeUpdateNodeAllocatable',
      'AssignedPodUpdate',
      'AssignedPodDelete',
      'UnschedulablePodUpdate',
      ...CLASSES,
    ],
    VolumeRestrictions: ['NodeAdd', 'AssignedPodDelete', 'PersistentVolumeClaimAdd'],
    VolumeBinding: [
      ...NODES,
      ...CLAIMS,
      ...VOLUMES,
      'StorageClassAdd',
      'StorageClassUpdate',
      'CSIDriverUpdate',
      'CSIStorageCapacityAdd',
      'CSIStorageCapacityUpdate',
    ],
    // NodeAdd is ours: a node without drivers has no limits.
    NodeVolumeLimits: [
      'NodeAdd',
      'AssignedPodDelete',
      'PersistentVolumeClaimAdd',
      'CSINodeAdd',
      'CSINodeUpdate',
      'VolumeAttachmentDelete',
    ],
    // Not StorageClassAdd: this plugin does not read classes.
    VolumeZone: [...NODES, ...CLAIMS, ...VOLUMES],
    PodTopologySpread: [...NODES, 'NodeDelete', 'NodeUpdateNodeTaint', ...PODS],
    // NamespaceUpdate is ours: terms may select namespaces by labels.
    InterPodAffinity: [...NODES, ...PODS, 'NamespaceUpdate'],
    // Upstream has no ResourceClaimDelete: a deleted claim releases its devices.
    DynamicResources: [
      ...NODES,
      'NodeUpdateNodeAllocatable',
      'UnschedulablePodUpdate',
      'ResourceClaimAdd',
      'ResourceClaimUpdate',
      'ResourceClaimDelete',
      ...CLASSES,
      'ResourceSliceAdd',
      'ResourceSliceUpdate',
    ],
    DefaultPreemption: [],
    NodeResourcesBalancedAllocation: [],
    ImageLocality: [],
    DefaultBinder: [],
    NodeDeclaredFeatures: ['NodeAdd', 'NodeUpdateNodeDeclaredFeature', 'UnschedulablePodUpdate'],
  };
  for (const { name } of defaultPlugins)
    test(name, () => {
      const events = (pluginOf(name).events ?? []).map(({ event }) => eventLabel(event));
      assert.deepEqual(events.toSorted(), [...(cases[name] ?? ['not in the table'])].toSorted());
    });
});

interface Case {
  readonly plugin: string;
  readonly event: ClusterEvent;
  readonly pod: Stored<Pod>;
  readonly old?: KubernetesObject;
  readonly now?: KubernetesObject;
}

const object = (name: string, more: object = {}): KubernetesObject => ({
  metadata: { name, namespace: 'default' },
  ...more,
});
const using = (claimName: string, name = 'p'): Stored<Pod> =>
  testPod(name, { spec: { volumes: [{ name: 'v', persistentVolumeClaim: { claimName } }] } });
const withDisk = (name: string, pdName: string): Stored<Pod> =>
  testPod(name, { spec: { volumes: [{ name: 'v', gcePersistentDisk: { pdName } }] } });
const limits = (count?: number): KubernetesObject =>
  object('n', {
    spec: { drivers: [{ name: 'd', nodeID: 'n', ...(count === undefined ? {} : { allocatable: { count } }) }] },
  });
const inZone = (zone: string): KubernetesObject => ({ metadata: { labels: { 'topology.kubernetes.io/zone': zone } } });
const capacity = (size: string): KubernetesObject => object('c', { capacity: size });
const allowing = (zone: string): KubernetesObject =>
  object('s', { allowedTopologies: [{ matchLabelExpressions: [{ key: 'zone', values: [zone] }] }] });
const driver = (storageCapacity: boolean): KubernetesObject => object('d', { spec: { storageCapacity } });
const tolerating = (...keys: string[]): Stored<Pod> =>
  testPod('p', { spec: { tolerations: keys.map((key) => ({ key, operator: 'Exists' })) } });
const labelled = (pod: Pod, labels: Record<string, string>): Stored<Pod> =>
  stored({
    ...pod,
    metadata: { ...pod.metadata, labels },
  });
const together = testPod('p', {
  spec: {
    affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'rack' }] } },
  },
});
const spread = testPod('p', {
  spec: {
    topologySpreadConstraints: [
      {
        topologyKey: 'rack',
        maxSkew: 1,
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'a' } },
      },
    ],
  },
});
const inRack: Node = testNode('n', { labels: { rack: '1' } });
const outside: Node = testNode('n');
const gpu = testPod('p', {
  spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { 'example.com/gpu': '1' } } }] },
});
const told = (resourceClaimName: string): Stored<Pod> =>
  stored({
    ...testPod('p'),
    status: { resourceClaimStatuses: [{ name: 'r', resourceClaimName }] },
  });
const withDevice = (resourceClaimName: string): Stored<Pod> =>
  testPod('p', { spec: { resourceClaims: [{ name: 'r', resourceClaimName }] } });
const resourceClaim = (name: string, uid: string, finalizers: string[] = []): KubernetesObject => ({
  metadata: { name, namespace: 'default', uid, finalizers },
});
const leaving = (pod: Pod): Pod => ({
  ...pod,
  metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
});

describe('hints', () => {
  const PVC = 'persistent-volume-claim';
  const [zone, binding, restrictions, volumeLimits] = [
    'VolumeZone',
    'VolumeBinding',
    'VolumeRestrictions',
    'NodeVolumeLimits',
  ] as const;
  const a = labelled(testPod('q'), { app: 'a' });
  const cases: [what: string, of: Case, helps: boolean][] = [
    ...[zone, binding, restrictions, volumeLimits].flatMap((plugin): [string, Case, boolean][] => [
      ['its own claim', { plugin, event: `${PVC}/add`, pod: using('c'), now: object('c') }, true],
      ["another pod's claim", { plugin, event: `${PVC}/add`, pod: using('c'), now: object('d') }, false],
    ]),
    ['its claim bound', { plugin: binding, event: `${PVC}/update`, pod: using('c'), now: object('c') }, true],
    ['another claim bound', { plugin: zone, event: `${PVC}/update`, pod: using('c'), now: object('d') }, false],
    [
      'a volume moved',
      { plugin: zone, event: 'persistent-volume/update', pod: using('c'), old: inZone('a'), now: inZone('b') },
      true,
    ],
    [
      'a volume where it was',
      { plugin: zone, event: 'persistent-volume/update', pod: using('c'), old: inZone('a'), now: inZone('a') },
      false,
    ],
    [
      'other places allowed',
      { plugin: binding, event: 'storage-class/update', pod: using('c'), old: allowing('a'), now: allowing('b') },
      true,
    ],
    [
      'the same places allowed',
      { plugin: binding, event: 'storage-class/update', pod: using('c'), old: allowing('a'), now: allowing('a') },
      false,
    ],
    [
      'more room',
      {
        plugin: binding,
        event: 'csi-storage-capacity/update',
        pod: using('c'),
        old: capacity('1Gi'),
        now: capacity('2Gi'),
      },
      true,
    ],
    [
      'less room',
      {
        plugin: binding,
        event: 'csi-storage-capacity/update',
        pod: using('c'),
        old: capacity('2Gi'),
        now: capacity('1Gi'),
      },
      false,
    ],
    [
      'a driver that tells no room any more',
      { plugin: binding, event: 'csi-driver/update', pod: using('c'), old: driver(true), now: driver(false) },
      true,
    ],
    [
      'a driver that tells room now',
      { plugin: binding, event: 'csi-driver/update', pod: using('c'), old: driver(false), now: driver(true) },
      false,
    ],
    [
      'a higher limit',
      { plugin: volumeLimits, event: 'csi-node/update', pod: using('c'), old: limits(1), now: limits(2) },
      true,
    ],
    [
      'no limit',
      { plugin: volumeLimits, event: 'csi-node/update', pod: using('c'), old: limits(1), now: limits() },
      true,
    ],
    [
      'a lower limit',
      { plugin: volumeLimits, event: 'csi-node/update', pod: using('c'), old: limits(2), now: limits(1) },
      false,
    ],
    [
      'a pod with a volume gone',
      { plugin: volumeLimits, event: 'assigned-pod/delete', pod: using('c'), old: using('d', 'q') },
      true,
    ],
    [
      'a pod without volumes gone',
      { plugin: volumeLimits, event: 'assigned-pod/delete', pod: using('c'), old: testPod('q') },
      false,
    ],
    [
      'a pod with its claim gone',
      { plugin: restrictions, event: 'assigned-pod/delete', pod: using('c'), old: using('c', 'q') },
      true,
    ],
    [
      'a pod with another claim gone',
      { plugin: restrictions, event: 'assigned-pod/delete', pod: using('c'), old: using('d', 'q') },
      false,
    ],
    [
      'a pod with its disk gone',
      { plugin: restrictions, event: 'assigned-pod/delete', pod: withDisk('p', 'd'), old: withDisk('q', 'd') },
      true,
    ],
    [
      'it tolerates more',
      { plugin: 'TaintToleration', event: 'pod/update', pod: tolerating('k'), old: tolerating() },
      true,
    ],
    [
      'it tolerates what it did',
      { plugin: 'TaintToleration', event: 'pod/update', pod: tolerating('k'), old: tolerating('k') },
      false,
    ],
    [
      'it tolerates closed nodes',
      {
        plugin: 'NodeUnschedulable',
        event: 'pod/update',
        pod: tolerating('node.kubernetes.io/unschedulable'),
        old: tolerating(),
      },
      true,
    ],
    [
      'it tolerates something else',
      { plugin: 'NodeUnschedulable', event: 'pod/update', pod: tolerating('k'), old: tolerating() },
      false,
    ],
    [
      'it asks for less',
      {
        plugin: 'NodeResourcesFit',
        event: 'pod/update',
        pod: testPod('p', { cpu: '1' }),
        old: testPod('p', { cpu: '2' }),
      },
      true,
    ],
    [
      'it asks for as much',
      {
        plugin: 'NodeResourcesFit',
        event: 'pod/update',
        pod: testPod('p', { cpu: '2' }),
        old: testPod('p', { cpu: '2' }),
      },
      false,
    ],
    [
      'a class for its resource',
      { plugin: 'NodeResourcesFit', event: 'device-class/add', pod: gpu, now: object('gpus') },
      true,
    ],
    [
      'a class for others',
      { plugin: 'NodeResourcesFit', event: 'device-class/add', pod: testPod('p', { cpu: '1' }), now: object('gpus') },
      false,
    ],
    ['a node of its topology', { plugin: 'InterPodAffinity', event: 'node/add', pod: together, now: inRack }, true],
    ['a node of no topology', { plugin: 'InterPodAffinity', event: 'node/add', pod: together, now: outside }, false],
    [
      'other labels of its own',
      { plugin: 'InterPodAffinity', event: 'pod/update', pod: labelled(together, { a: 'b' }), old: together },
      true,
    ],
    ['labels as they were', { plugin: 'InterPodAffinity', event: 'pod/update', pod: together, old: together }, false],
    ['a node in a domain', { plugin: 'PodTopologySpread', event: 'node/add', pod: spread, now: inRack }, true],
    ['a node outside', { plugin: 'PodTopologySpread', event: 'node/delete', pod: spread, old: outside }, false],
    [
      'a node that comes to a domain',
      { plugin: 'PodTopologySpread', event: 'node/update-label', pod: spread, old: outside, now: inRack },
      true,
    ],
    [
      'a counted pod gone',
      { plugin: 'PodTopologySpread', event: 'assigned-pod/delete', pod: spread, old: leaving(a) },
      true,
    ],
    [
      'a pod that does not count gone',
      { plugin: 'PodTopologySpread', event: 'assigned-pod/delete', pod: spread, old: testPod('q') },
      false,
    ],
    [
      'a counted pod that leaves',
      { plugin: 'PodTopologySpread', event: 'assigned-pod/update', pod: spread, old: a, now: leaving(a) },
      true,
    ],
    [
      'a counted pod that stays',
      { plugin: 'PodTopologySpread', event: 'assigned-pod/update', pod: spread, old: a, now: a },
      false,
    ],
    [
      'its claim deleted and made anew while nobody watched',
      {
        plugin: 'DynamicResources',
        event: 'resource-claim/update',
        pod: withDevice('c'),
        old: resourceClaim('c', 'a'),
        now: resourceClaim('c', 'b'),
      },
      true,
    ],
    [
      'its claim as it was but for the finalizer',
      {
        plugin: 'DynamicResources',
        event: 'resource-claim/update',
        pod: withDevice('c'),
        old: resourceClaim('c', 'a'),
        now: resourceClaim('c', 'a', ['resource.kubernetes.io/delete-protection']),
      },
      false,
    ],
    ['its claim made', { plugin: 'DynamicResources', event: 'pod/update', pod: told('c'), old: testPod('p') }, true],
    [
      'its claims as they were',
      { plugin: 'DynamicResources', event: 'pod/update', pod: told('c'), old: told('c') },
      false,
    ],
  ];
  for (const [what, { plugin, event, pod, old, now }, helps] of cases)
    test(`${plugin}: ${what} ${helps ? 'helps' : 'does not help'}`, () => {
      const entry = pluginOf(plugin).events?.find((each) => each.event === event);
      assert.ok(entry?.hint !== undefined, `no hint for ${event}`);
      assert.equal(entry.hint(pod, old, now), helps);
    });
});
