/** NodeVolumeLimits, VolumeBinding of claims that wait for their pod, DynamicResources, and resizes in place. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node, PersistentVolume, PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { ResourceClaim } from '../../api/gen/resource-v1.ts';
import type { CSIStorageCapacity, StorageClass } from '../../api/gen/storage-v1.ts';
import type { Stored } from '../../api/object.ts';
import { stored } from '../../api/stored-fixture.ts';
import type { Client } from '../../client/client.ts';
import { podRequests } from '../../component-helpers/pod-resources.ts';
import { NodeInfo } from '../cache/node-info.ts';
import { createSchedulerCache } from '../cache/scheduler-cache.ts';
import type { SchedulerPluginDeps } from '../framework/plugin-deps.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import { testNode, testPluginDeps, testPod } from '../scheduler-fixture.ts';
import { createDynamicResources } from './dynamic-resources/dynamic-resources.ts';
import { createNodeVolumeLimits } from './node-volume-limits/node-volume-limits.ts';
import { createVolumeBinding } from './volume-binding/volume-binding.ts';

const CLASS = 'slow';
const claim = (
  name: string,
  more: Partial<PersistentVolumeClaim['spec']> = {},
  metadata: object = {},
): PersistentVolumeClaim => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}`, ...metadata },
  spec: {
    storageClassName: CLASS,
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '5Gi' } },
    ...more,
  },
});
const volume = (name: string, storage: string, node?: string, more: object = {}): Stored<PersistentVolume> =>
  stored({
    metadata: { name },
    spec: {
      storageClassName: CLASS,
      accessModes: ['ReadWriteOnce'],
      capacity: { storage },
      ...(node === undefined
        ? {}
        : {
            nodeAffinity: {
              required: {
                nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: [node] }] }],
              },
            },
          }),
      ...more,
    },
    status: { phase: 'Available' },
  });
const storageClass = (provisioner: string, more: Partial<StorageClass> = {}): StorageClass => ({
  metadata: { name: CLASS },
  provisioner,
  volumeBindingMode: 'WaitForFirstConsumer',
  ...more,
});
const podWith = (name: string, ...claims: string[]): Stored<Pod> =>
  testPod(name, {
    spec: { volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })) },
  });

/** The message for each node: '' fits. */
function verdicts(plugin: SchedulerPlugin, pod: Stored<Pod>, nodes: readonly NodeInfo[]): string[] {
  const state = new Map<string, unknown>();
  const cache = createSchedulerCache();
  const pre = plugin.preFilter?.(state, pod, cache.snapshot());
  if (pre !== undefined && 'code' in pre) return [pre.reasons.join() || pre.code];
  return nodes.map((node) => plugin.filter?.(state, pod, node)?.reasons.join() ?? '');
}

interface Storage {
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly volumes?: readonly Stored<PersistentVolume>[];
  readonly class?: StorageClass;
  readonly capacities?: readonly CSIStorageCapacity[];
  readonly nodes?: readonly Stored<Node>[];
  readonly client?: Client;
}
const depsOf = ({
  claims = [],
  volumes = [],
  class: own,
  capacities,
  nodes = [],
  client,
}: Storage): SchedulerPluginDeps =>
  testPluginDeps({
    claim: (_namespace, name) => claims.map((claim) => stored(claim)).find(({ metadata }) => metadata.name === name),
    volume: (name) => volumes.find(({ metadata }) => metadata.name === name),
    volumesOfClass: () => volumes,
    node: (name) => nodes.find(({ metadata }) => metadata.name === name),
    storageClass: () => own,
    csiDriver: () =>
      capacities === undefined ? undefined : { metadata: { name: 'x' }, spec: { storageCapacity: true } },
    storageCapacities: () => capacities ?? [],
    ...(client === undefined ? {} : { client }),
  });

const NO_VOLUME = "node(s) didn't find available persistent volumes to bind";
const NO_CAPACITY = 'node(s) did not have enough free storage';
const local = storageClass('kubernetes.io/no-provisioner');
const [a, b] = [testNode('a', { labels: { rack: '1' } }), testNode('b', { labels: { rack: '2' } })];
const infos = [new NodeInfo(a), new NodeInfo(b)];

const binding: readonly (readonly [string, Storage, string[]])[] = [
  [
    'a volume of the node',
    { class: local, claims: [claim('c')], volumes: [volume('v', '10Gi', 'a')] },
    ['', NO_VOLUME],
  ],
  ['too small', { class: local, claims: [claim('c')], volumes: [volume('v', '1Gi')] }, [NO_VOLUME, NO_VOLUME]],
  [
    'another mode',
    { class: local, claims: [claim('c', { accessModes: ['ReadWriteMany'] })], volumes: [volume('v', '10Gi')] },
    [NO_VOLUME, NO_VOLUME],
  ],
  [
    'another class of attributes',
    {
      class: local,
      claims: [claim('c', { volumeAttributesClassName: 'gold' })],
      volumes: [volume('v', '10Gi', 'a'), volume('w', '10Gi', 'b', { volumeAttributesClassName: 'gold' })],
    },
    [NO_VOLUME, ''],
  ],
  ...[{ phase: 'Pending' }, {}].map((status): (typeof binding)[number] => [
    `not ready yet, or let go of: ${JSON.stringify(status)}`,
    {
      class: local,
      claims: [claim('c')],
      volumes: [stored({ ...volume('v', '10Gi', 'a'), status }), volume('w', '10Gi', 'b')],
    },
    [NO_VOLUME, ''],
  ]),
  [
    "somebody else's",
    {
      class: local,
      claims: [claim('c')],
      volumes: [volume('v', '10Gi', 'a', { claimRef: { namespace: 'x', name: 'y' } })],
    },
    [NO_VOLUME, NO_VOLUME],
  ],
  [
    'kept for it',
    {
      class: local,
      claims: [claim('c')],
      volumes: [volume('v', '10Gi', 'b', { claimRef: { namespace: 'default', name: 'c' } })],
    },
    [NO_VOLUME, ''],
  ],
  [
    'not selected',
    { class: local, claims: [claim('c', { selector: { matchLabels: { x: 'y' } } })], volumes: [volume('v', '10Gi')] },
    [NO_VOLUME, NO_VOLUME],
  ],
  ['a provisioner', { class: storageClass('x'), claims: [claim('c')] }, ['', '']],
  [
    'allowed topologies',
    {
      class: storageClass('x', { allowedTopologies: [{ matchLabelExpressions: [{ key: 'rack', values: ['2'] }] }] }),
      claims: [claim('c')],
    },
    [NO_VOLUME, ''],
  ],
  [
    'capacity by topology',
    {
      class: storageClass('x'),
      claims: [claim('c')],
      capacities: [
        { metadata: {}, storageClassName: CLASS, capacity: '10Gi', nodeTopology: { matchLabels: { rack: '1' } } },
        { metadata: {}, storageClassName: CLASS, capacity: '1Gi', nodeTopology: { matchLabels: { rack: '2' } } },
      ],
    },
    ['', NO_CAPACITY],
  ],
  [
    'selected before',
    {
      class: storageClass('x'),
      claims: [claim('c', {}, { annotations: { 'volume.kubernetes.io/selected-node': 'b' } })],
    },
    [NO_VOLUME, ''],
  ],
];
describe('VolumeBinding of claims that wait', () => {
  for (const [name, storage, expected] of binding)
    test(name, () =>
      assert.deepEqual(verdicts(createVolumeBinding(depsOf(storage)), podWith('p', 'c'), infos), expected),
    );

  test('two claims of a pod do not share a volume', () => {
    const claims = [claim('c'), claim('d')];
    const one = depsOf({ class: local, claims, volumes: [volume('v', '10Gi')] });
    assert.deepEqual(verdicts(createVolumeBinding(one), podWith('p', 'c', 'd'), [infos[0] as NodeInfo]), [NO_VOLUME]);
    const two = depsOf({ class: local, claims, volumes: [volume('v', '10Gi'), volume('w', '10Gi')] });
    assert.deepEqual(verdicts(createVolumeBinding(two), podWith('p', 'c', 'd'), [infos[0] as NodeInfo]), ['']);
  });

  test('a volume chosen for one pod is not offered to the next until it is released; the smallest is chosen', async () => {
    const patches: unknown[] = [];
    const claims = [claim('c'), claim('d')];
    const client = {
      resource: () => ({
        patch: async (key: { name: string }, { patch }: { patch: { spec?: { claimRef?: { name?: string } } } }) => {
          patches.push([key.name, patch.spec?.claimRef?.name]);
          Object.assign(
            claims[0] as object,
            claim('c', { volumeName: key.name }, { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } }),
          );
        },
      }),
    } as unknown as Client;
    const volumes = [volume('big', '50Gi', 'b'), volume('small', '10Gi', 'a'), volume('larger', '20Gi', 'a')];
    const plugin = createVolumeBinding(depsOf({ class: local, claims, volumes, nodes: [a, b], client }));
    const [first, second] = [podWith('p', 'c'), podWith('q', 'd')];
    const state = new Map<string, unknown>();
    plugin.preFilter?.(state, first, createSchedulerCache().snapshot());
    assert.equal(plugin.reserve?.(state, first, 'a'), undefined);
    const others = new Map<string, unknown>();
    plugin.preFilter?.(others, second, createSchedulerCache().snapshot());
    plugin.reserve?.(others, second, 'a');
    const third = podWith('r', 'd');
    assert.deepEqual(verdicts(plugin, third, infos), [NO_VOLUME, '']);
    plugin.unreserve?.(others, second, 'a');
    assert.deepEqual(verdicts(plugin, third, infos), ['', '']);
    const { signal } = new AbortController();
    assert.equal(await plugin.preBind?.(state, first, { nodeName: 'a', signal }), undefined);
    assert.deepEqual(patches, [['small', 'c']]);
  });
});

describe('NodeVolumeLimits', () => {
  const csi = (name: string): Stored<PersistentVolume> =>
    stored({
      metadata: { name },
      spec: { csi: { driver: 'x', volumeHandle: name } },
    });
  const claims = ['c', 'd', 'e'].map((name) => claim(name, { volumeName: `v-${name}` }));
  const deps = {
    ...depsOf({ claims, volumes: claims.map(({ spec }) => csi(spec?.volumeName ?? '')) }),
    csiNode: (name: string) => ({
      metadata: { name },
      spec: { drivers: [{ name: 'x', nodeID: name, allocatable: { count: 2 } }] },
    }),
  };
  const full = new NodeInfo(a);
  full.addPod(podWith('q', 'c', 'd'));

  test('one volume beyond the limit of the driver is refused; a shared volume counts once', () => {
    const plugin = createNodeVolumeLimits(deps);
    assert.deepEqual(verdicts(plugin, podWith('p', 'e'), [full, new NodeInfo(b)]), [
      'node(s) exceed max volume count',
      '',
    ]);
    assert.deepEqual(verdicts(plugin, podWith('p', 'c'), [full]), ['']);
    assert.deepEqual(verdicts(plugin, testPod('p'), [full]), ['skip']);
  });

  test('volumes that are still attached count, once; a pod without new volumes fits', () => {
    const attached =
      (...names: string[]) =>
      (node: string) =>
        names.map((name) => ({
          metadata: { name },
          spec: { attacher: 'x', nodeName: node, source: { persistentVolumeName: `v-${name}` } },
        }));
    const onB = (...names: string[]): string[] =>
      verdicts(createNodeVolumeLimits({ ...deps, attachmentsTo: attached(...names) }), podWith('p', 'e'), [
        new NodeInfo(b),
      ]);
    assert.deepEqual([onB('c'), onB('c', 'd'), onB('c', 'd', 'e')], [[''], ['node(s) exceed max volume count'], ['']]);
  });
});

describe('DynamicResources', () => {
  const claimed = testPod('p', { spec: { resourceClaims: [{ name: 'gpu', resourceClaimName: 'g' }] } });
  const onA = { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }] };
  const found = (status?: ResourceClaim['status'], deletionTimestamp?: string): SchedulerPluginDeps =>
    testPluginDeps({
      resourceClaim: () => ({
        metadata: { name: 'g', namespace: 'default', uid: 'u', ...(deletionTimestamp && { deletionTimestamp }) },
        spec: {},
        ...(status && { status }),
      }),
    });
  const cases: readonly (readonly [string, SchedulerPluginDeps, Stored<Pod>, string[]])[] = [
    ['no claims', testPluginDeps(), testPod('p'), ['skip']],
    ['missing', testPluginDeps(), claimed, ['resourceclaim "g" not found']],
    ['nothing to allocate', found(), claimed, ['', '']],
    [
      'allocated elsewhere',
      found({ allocation: { nodeSelector: onA } }),
      claimed,
      ['', 'resourceclaim not available on the node'],
    ],
  ];
  for (const [name, deps, pod, expected] of cases)
    test(name, () => assert.deepEqual(verdicts(createDynamicResources(deps), pod, infos), expected));

  test('a claim that is still to be made from its template holds the pod out of the queue', () => {
    const pod = testPod('p', { spec: { resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 't' }] } });
    const held = createDynamicResources(testPluginDeps()).preEnqueue?.(pod);
    assert.match(held?.reasons.join() ?? '', /waiting for dynamic resource controller/);
  });

  test('a claim made from a template for another pod of the name holds the pod out', () => {
    const resourceClaims = [{ name: 'gpu', resourceClaimTemplateName: 't' }];
    const status = { resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'g' }] };
    const pod = { ...testPod('p', { spec: { resourceClaims } }), status };
    const ownedBy = (uid: string): SchedulerPluginDeps => {
      const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid, controller: true }];
      return testPluginDeps({
        resourceClaim: () => ({ metadata: { name: 'g', namespace: 'default', ownerReferences }, spec: {} }),
      });
    };
    assert.deepEqual(createDynamicResources(ownedBy('before')).preEnqueue?.(pod)?.reasons, [
      'ResourceClaim default/g was not created for Pod default/p (Pod is not owner)',
    ]);
    assert.equal(createDynamicResources(ownedBy('uid-p')).preEnqueue?.(pod), undefined);
  });

  for (const [what, deps, why] of [
    ['does not exist', testPluginDeps(), 'resourceclaim "g" not found'],
    ['is going', found(undefined, '2026-01-01T00:00:00Z'), 'resourceclaim "g" is being deleted'],
    ['is there', found(), undefined],
  ] as const)
    test(`a named claim that ${what} ${why === undefined ? 'lets' : 'holds'} the pod`, () =>
      assert.equal(createDynamicResources(deps).preEnqueue?.(claimed)?.reasons.join(), why));

  test('the pod is written into its claims before it is bound', async () => {
    const patches: unknown[] = [];
    const client = {
      resource: () => ({ patch: async (...args: unknown[]) => patches.push(args[1]) }),
    } as unknown as Client;
    const plugin = createDynamicResources({ ...found({ allocation: {} }), client });
    const state = new Map<string, unknown>();
    plugin.preFilter?.(state, claimed, createSchedulerCache().snapshot());
    await plugin.preBind?.(state, claimed, { nodeName: 'a', signal: new AbortController().signal });
    const [{ patch }] = patches as [{ patch: { status: { reservedFor: unknown } } }];
    assert.deepEqual(patch.status.reservedFor, [{ resource: 'pods', name: 'p', uid: 'uid-p' }]);
  });
});

describe('a pod that is resized in place counts with the maximum of requested, allocated and actual resources', () => {
  const resizing = (wanted: string, allocated: string, had: string, infeasible = false): number => {
    const pod = testPod('p', { cpu: wanted });
    return podRequests({
      ...pod,
      status: {
        conditions: infeasible ? [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }] : [],
        containerStatuses: [
          {
            name: 'c',
            image: 'i',
            imageID: '',
            ready: true,
            restartCount: 0,
            allocatedResources: { cpu: allocated },
            resources: { requests: { cpu: had } },
          },
        ],
      },
    }).requests.milliCpu;
  };
  const cases = [
    ['3', '1', '1', false, 3000],
    ['1', '3', '2', false, 3000],
    ['1', '2', '3', false, 3000],
    ['9', '1', '2', true, 2000],
  ] as const;
  for (const [wanted, allocated, had, infeasible, counted] of cases)
    test(`requested ${wanted}, allocated ${allocated}, actual ${had}${infeasible ? ', infeasible' : ''}`, () =>
      assert.equal(resizing(wanted, allocated, had, infeasible), counted));

  for (const [wanted, allocated, had, infeasible, counted] of cases)
    test(`pod level: requested ${wanted}, allocated ${allocated}, actual ${had}${infeasible ? ', infeasible' : ''}`, () => {
      const conditions = infeasible ? [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }] : [];
      const { requests } = podRequests({
        ...testPod('p', { cpu: '20', memory: '1Gi', spec: { resources: { requests: { cpu: wanted } } } }),
        status: { conditions, allocatedResources: { cpu: allocated }, resources: { requests: { cpu: had } } },
      });
      assert.deepEqual([requests.milliCpu, requests.memoryBytes], [counted, 2 ** 30]);
    });
});
