import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../../../api/gen/core-v1.ts';
import type { Device, DeviceClass, DeviceRequest, ResourceClaim, ResourceSlice } from '../../../api/gen/resource-v1.ts';
import { stored } from '../../../api/stored-fixture.ts';
import type { Stored } from '../../../api/object.ts';
import type { Client } from '../../../client/client.ts';
import { NodeInfo } from '../../cache/node-info.ts';
import { createSchedulerCache } from '../../cache/scheduler-cache.ts';
import { testPluginDeps, testPod } from '../../scheduler-fixture.ts';
import { allocateClaims } from './allocator.ts';
import { wantedClaim } from './claim-requests.ts';
import { allDevices } from '../../devices/device-pools.ts';
import { deviceUseOf } from '../../devices/device-use.ts';
import { createDynamicResources } from './dynamic-resources.ts';

const DRIVER = 'gpu.example.com';
const node = (name: string, labels = {}): Stored<Node> => stored({ metadata: { name, labels } } as Node);

function slice(place: Partial<ResourceSlice['spec']>, devices: Device[], pool = {}): ResourceSlice {
  return {
    metadata: { name: 's' },
    spec: { driver: DRIVER, pool: { name: 'p', generation: 1, resourceSliceCount: 1, ...pool }, devices, ...place },
  };
}

function device(name: string, more: Partial<Device> = {}): Device {
  const size = Number(/\d+$/.exec(name)?.[0] ?? 0);
  return {
    name,
    attributes: {
      model: { string: name.startsWith('big') ? 'big' : 'small' },
      index: { int: size },
      version: { version: `1.${size}.0` },
      'other.example.com/numa': { int: size % 2 },
    },
    capacity: { memory: { value: `${size}Gi` } },
    ...more,
  };
}

const classes: Readonly<Record<string, DeviceClass>> = {
  gpu: {
    metadata: { name: 'gpu' },
    spec: {
      selectors: [{ cel: { expression: `device.driver == "${DRIVER}"` } }],
      config: [{ opaque: { driver: DRIVER, parameters: { mode: 'class' } } }],
    },
  },
};

function claimOf(devices: NonNullable<ResourceClaim['spec']['devices']>, name = 'c'): ResourceClaim {
  return { metadata: { name, namespace: 'default', uid: `uid-${name}` }, spec: { devices } };
}

const exactly = (expression?: string, more: Partial<NonNullable<DeviceRequest['exactly']>> = {}): DeviceRequest => ({
  name: 'r',
  exactly: {
    deviceClassName: 'gpu',
    ...(expression === undefined ? {} : { selectors: [{ cel: { expression } }] }),
    ...more,
  },
});

const four = [device('small-1'), device('small-2'), device('big-3'), device('big-4')];

/** Names of the allocated devices, or why there are none. */
function allocate(
  devices: NonNullable<ResourceClaim['spec']['devices']>,
  of: { slices?: ResourceSlice[]; inUse?: string[]; on?: Stored<Node> } = {},
): string {
  const input = {
    node: of.on ?? node('a'),
    pools: allDevices(of.slices ?? [slice({ nodeName: 'a' }, four)]),
    inUse: new Set((of.inUse ?? []).map((name) => `${DRIVER}/p/${name}`)),
    claims: [wantedClaim(claimOf(devices), (name) => classes[name])],
  };
  const [result] = allocateClaims(input) ?? [];
  return result?.devices?.results?.map((each) => `${each.request}=${each.device}`).join(' ') ?? 'none';
}

describe('allocating devices', () => {
  const cases: [string, DeviceRequest[], Parameters<typeof allocate>[1], string][] = [
    ['the first of its class', [exactly()], {}, 'r=small-1'],
    ['the first that is free', [exactly()], { inUse: ['small-1'] }, 'r=small-2'],
    ['none on another node', [exactly()], { on: node('b') }, 'none'],
    ['by attribute', [exactly(`device.attributes["${DRIVER}"].model == "big"`)], {}, 'r=big-3'],
    ['by number', [exactly(`device.attributes["${DRIVER}"].index > 3`)], {}, 'r=big-4'],
    ['by version', [exactly(`device.attributes["${DRIVER}"].version.isGreaterThan(semver("1.1.0"))`)], {}, 'r=small-2'],
    ['by capacity', [exactly(`device.capacity["${DRIVER}"].memory.compareTo(quantity("3Gi")) >= 0`)], {}, 'r=big-3'],
    ['a domain nobody has is empty', [exactly(`"x" in device.attributes["nobody.example.com"]`)], {}, 'none'],
    ['several', [exactly(undefined, { count: 3 })], {}, 'r=small-1 r=small-2 r=big-3'],
    ['too many', [exactly(undefined, { count: 5 })], {}, 'none'],
    ['all', [exactly(undefined, { allocationMode: 'All' })], {}, 'r=small-1 r=small-2 r=big-3 r=big-4'],
    ['all, but one is in use', [exactly(undefined, { allocationMode: 'All' })], { inUse: ['big-4'] }, 'none'],
    [
      'one in use, for administration',
      [exactly(undefined, { adminAccess: true })],
      { inUse: ['small-1'] },
      'r=small-1',
    ],
    ['enough capacity', [exactly(undefined, { capacity: { requests: { memory: '3Gi' } } })], {}, 'r=big-3'],
    [
      'the next best',
      [
        {
          name: 'r',
          firstAvailable: [
            { name: 'huge', deviceClassName: 'gpu', count: 9 },
            { name: 'two', deviceClassName: 'gpu', count: 2 },
          ],
        },
      ],
      {},
      'r/two=small-1 r/two=small-2',
    ],
  ];
  for (const [name, requests, of, expected] of cases)
    test(name, () => assert.equal(allocate({ requests }, of), expected));

  test('backtracks when a later request or a constraint requires it', () => {
    const any = { ...exactly(), name: 'any' };
    const small = { ...exactly(`device.attributes["${DRIVER}"].model == "small"`, { count: 2 }), name: 'small' };
    assert.equal(allocate({ requests: [any, small] }), 'any=big-3 small=small-1 small=small-2');
    const numa = 'other.example.com/numa';
    const two = exactly(undefined, { count: 2 });
    assert.equal(allocate({ requests: [two], constraints: [{ matchAttribute: numa }] }), 'r=small-1 r=big-3');
    assert.equal(allocate({ requests: [two], constraints: [{ distinctAttribute: numa }] }), 'r=small-1 r=small-2');
    assert.equal(allocate({ requests: [two], constraints: [{ matchAttribute: `${DRIVER}/none` }] }), 'none');
  });

  test('taints, pools that are not all there, older generations, labels of nodes', () => {
    const taints = [{ key: 'broken', effect: 'NoSchedule' }];
    const slices = [slice({ nodeName: 'a' }, [device('x-1', { taints }), device('x-2')])];
    assert.equal(allocate({ requests: [exactly()] }, { slices }), 'r=x-2');
    const tolerations = [{ key: 'broken', operator: 'Exists' }];
    assert.equal(allocate({ requests: [exactly(undefined, { tolerations })] }, { slices }), 'r=x-1');
    assert.equal(
      allocate({ requests: [exactly()] }, { slices: [slice({ nodeName: 'a' }, four, { resourceSliceCount: 2 })] }),
      'none',
    );
    const newer = slice({ nodeName: 'a' }, [device('new-1')], { generation: 2 });
    assert.equal(allocate({ requests: [exactly()] }, { slices: [slice({ nodeName: 'a' }, four), newer] }), 'r=new-1');
    const matchExpressions = [{ key: 'rack', operator: 'In', values: ['1'] }];
    const rack = [slice({ nodeSelector: { nodeSelectorTerms: [{ matchExpressions }] } }, four)];
    assert.equal(allocate({ requests: [exactly()] }, { slices: rack, on: node('z', { rack: '1' }) }), 'r=small-1');
    assert.equal(allocate({ requests: [exactly()] }, { slices: rack, on: node('z') }), 'none');
  });

  test('partitions of a device share its counters', () => {
    const part = (name: string, value: string): Device => ({
      name,
      consumesCounters: [{ counterSet: 'card', counters: { memory: { value } } }],
    });
    const sharedCounters = [{ name: 'card', counters: { memory: { value: '4Gi' } } }];
    const slices = [
      slice({ nodeName: 'a', sharedCounters }, [part('half-a', '2Gi'), part('whole', '4Gi'), part('half-b', '2Gi')]),
    ];
    const two = [exactly(undefined, { count: 2 })];
    assert.equal(allocate({ requests: two }, { slices }), 'r=half-a r=half-b');
    assert.equal(allocate({ requests: [exactly()] }, { slices, inUse: ['whole'] }), 'none');
  });
});

describe('the plugin', () => {
  function set(more: { claim?: Partial<ResourceClaim>; requests?: DeviceRequest[]; others?: ResourceClaim[] } = {}) {
    const claim = { ...claimOf({ requests: more.requests ?? [exactly()] }), ...more.claim };
    const patches: { patch: Record<string, unknown>; subresource: string | undefined }[] = [];
    const client = {
      resource: () => ({
        async patch(
          _key: object,
          { patch }: { patch: Record<string, unknown> },
          { subresource }: { subresource?: string },
        ) {
          patches.push({ patch, subresource });
          return { metadata: { ...claim.metadata, resourceVersion: '8' } };
        },
      }),
    } as unknown as Client;
    const plugin = createDynamicResources({
      ...testPluginDeps({
        resourceClaim: () => claim,
        deviceUse: () => deviceUseOf([claim, ...(more.others ?? [])]),
        resourceSlices: () => [slice({ nodeName: 'a' }, four)],
        deviceClass: (name) => classes[name],
      }),
      client,
    });
    const cycle = (name: string) => {
      const pod = testPod(name, { spec: { resourceClaims: [{ name: 'card', resourceClaimName: 'c' }] } });
      const state = new Map<string, unknown>();
      const refused = plugin.preFilter?.(state, pod, createSchedulerCache().snapshot());
      return { pod, state, refused: refused as { reasons: string[] } | undefined };
    };
    return { plugin, patches, cycle };
  }

  test('writes the allocation, with the finalizer and the pod', async () => {
    const { plugin, patches, cycle } = set();
    const { pod, state } = cycle('p');
    assert.deepEqual(plugin.filter?.(state, pod, new NodeInfo(node('b')))?.reasons, ['cannot allocate all claims']);
    assert.equal(plugin.filter?.(state, pod, new NodeInfo(node('a'))), undefined);
    plugin.reserve?.(state, pod, 'a');
    assert.match(cycle('q').refused?.reasons[0] ?? '', /in the process of being allocated/);
    await plugin.preBind?.(state, pod, { nodeName: 'a', signal: new AbortController().signal });
    assert.deepEqual(patches[0]?.patch['metadata'], {
      uid: 'uid-c',
      resourceVersion: undefined,
      finalizers: ['resource.kubernetes.io/delete-protection'],
    });
    assert.equal(patches[1]?.subresource, 'status');
    assert.deepEqual(patches[1]?.patch['status'], {
      allocation: {
        devices: {
          results: [{ request: 'r', driver: DRIVER, pool: 'p', device: 'small-1' }],
          config: [{ source: 'FromClass', requests: ['r'], opaque: { driver: DRIVER, parameters: { mode: 'class' } } }],
        },
        nodeSelector: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['a'] }] }],
        },
      },
      reservedFor: [{ resource: 'pods', name: 'p', uid: 'uid-p' }],
    });
  });

  test('drops unwritten allocations, and counts those of others', () => {
    const results = ['small-1', 'small-2', 'big-3'].map((name) => ({
      request: 'r',
      driver: DRIVER,
      pool: 'p',
      device: name,
    }));
    const other = { ...claimOf({}, 'other'), status: { allocation: { devices: { results } } } };
    const { plugin, cycle } = set({ others: [other] });
    const { pod, state } = cycle('p');
    assert.equal(plugin.filter?.(state, pod, new NodeInfo(node('a'))), undefined);
    plugin.reserve?.(state, pod, 'a');
    plugin.unreserve?.(state, pod, 'a');
    assert.equal(cycle('q').refused, undefined);
  });

  const onB = { nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] }] };
  const usedBy = (name: string) => ({ resource: 'pods', name, uid: `uid-${name}` });
  const elsewhere: [what: string, status: ResourceClaim['status'], node: string, message: string, gives: boolean][] = [
    ['nobody uses', { allocation: { nodeSelector: onB } }, 'a', 'deallocation of ResourceClaim completed', true],
    [
      'the pod alone uses',
      { allocation: { nodeSelector: onB }, reservedFor: [usedBy('p')] },
      'a',
      'deallocation of ResourceClaim completed',
      true,
    ],
    [
      'another pod uses',
      { allocation: { nodeSelector: onB }, reservedFor: [usedBy('q')] },
      'a',
      'still not schedulable',
      false,
    ],
    ['the node can reach', { allocation: { nodeSelector: onB } }, 'b', 'still not schedulable', false],
    ['is not allocated', {}, 'b', 'still not schedulable', false],
  ];
  for (const [what, status, where, message, gives] of elsewhere)
    test(`a pod without a node: a claim that ${what} is ${gives ? 'deallocated' : 'kept'}`, async () => {
      const { plugin, patches, cycle } = set({ claim: { status: status! } });
      const { pod, state } = cycle('p');
      plugin.filter?.(state, pod, new NodeInfo(node(where)));
      const told = await plugin.postFilter?.(state, pod, {} as never);
      assert.equal(told?.message, message);
      assert.equal(told?.nominatedNode, undefined);
      await told?.commit?.(new AbortController().signal);
      assert.deepEqual(
        patches.map(({ patch, subresource }) => [subresource, patch['status']]),
        gives ? [['status', { allocation: null, reservedFor: null, devices: null }]] : [],
      );
    });

  test('a pod without claims has none to give back', () => {
    const { plugin } = set();
    const told = plugin.postFilter?.(new Map(), testPod('p'), {} as never);
    assert.deepEqual(told, { message: 'no new claims to deallocate' });
  });

  test('reports the error of a claim', () => {
    assert.deepEqual(
      set({ requests: [{ name: 'r', exactly: { deviceClassName: 'no' } }] }).cycle('p').refused?.reasons,
      ['request r: device class no does not exist'],
    );
    const tooMany = set({ requests: Array.from({ length: 10_001 }, () => exactly()) }).cycle('p');
    assert.deepEqual(tooMany.refused?.reasons, ["the pod's claims have more than 10000 requests together"]);
    for (const [expression, error] of [
      ['device.nope', /compilation failed/],
      [`device.attributes["${DRIVER}"].nope == 1`, /no such key/],
    ] as const) {
      const broken = set({ requests: [exactly(expression)] });
      const { pod, state } = broken.cycle('p');
      assert.match(broken.plugin.filter?.(state, pod, new NodeInfo(node('a')))?.reasons[0] ?? '', error);
    }
  });
});
