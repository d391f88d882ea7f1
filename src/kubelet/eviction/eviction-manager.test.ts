/** Eviction under virtual time: thresholds, grace periods, order, limits, pressure conditions and the status of pods. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import { kubeletConfiguration } from '../kubelet-defaults.ts';
import type { NodeStats, PodStats } from '../stats/summary-types.ts';
import { createEvictionManager, type EvictionManager } from './eviction-manager.ts';

const GI = 2 ** 30;
const MI = 2 ** 20;
const TIME = '2026-01-01T00:00:00Z';

interface World {
  memoryBytes: number;
  nodefsBytes: number;
  imagefsBytes?: number;
  /** The writable layers lie with the node's own files, not with the images. */
  split?: boolean;
  inodes: number;
  processes: number;
  podsMemoryBytes: number;
}

const CALM: World = { memoryBytes: 4 * GI, nodefsBytes: 50 * GI, inodes: 1000, processes: 10, podsMemoryBytes: GI };

function nodeStats(world: World): NodeStats {
  const disk = { time: TIME, capacityBytes: 100 * GI, inodes: 1000 };
  const imageFs = { ...disk, capacityBytes: 20 * GI, availableBytes: world.imagefsBytes ?? 0, inodesFree: 900 };
  const fs = { ...disk, availableBytes: world.nodefsBytes, inodesFree: world.inodes };
  return {
    nodeName: 'n',
    startTime: TIME,
    memory: { time: TIME, availableBytes: world.memoryBytes, workingSetBytes: 8 * GI - world.memoryBytes },
    fs,
    ...(world.imagefsBytes === undefined ? {} : { runtime: { imageFs, containerFs: world.split ? fs : imageFs } }),
    rlimit: { time: TIME, maxpid: 1000, curproc: world.processes },
    systemContainers: [
      { name: 'pods', startTime: TIME, memory: { time: TIME, workingSetBytes: world.podsMemoryBytes } },
    ],
  };
}

interface Use {
  readonly memory?: number;
  readonly disk?: number;
  readonly volume?: number;
  readonly processes?: number;
  /** The whole of the pod's ephemeral storage. */
  readonly total?: number;
}

function pod(
  name: string,
  spec: Partial<NonNullable<Pod['spec']>> & { request?: string; storageLimit?: string } = {},
): Pod {
  const { request, storageLimit, ...rest } = spec;
  const resources = {
    ...(request === undefined ? {} : { requests: { memory: request } }),
    ...(storageLimit === undefined ? {} : { limits: { 'ephemeral-storage': storageLimit } }),
  };
  return {
    metadata: { name, namespace: 'default', uid: name, generation: 2 },
    spec: { containers: [{ name: 'app', image: 'i', resources }], ...rest },
  };
}

function podStats({ metadata }: Pod, use: Use): PodStats {
  const memory = { time: TIME, workingSetBytes: use.memory ?? 0 };
  return {
    podRef: { name: metadata.name!, namespace: 'default', uid: metadata.uid! },
    startTime: TIME,
    memory,
    containers: [{ name: 'app', startTime: TIME, memory, rootfs: { time: TIME, usedBytes: use.disk ?? 0 } }],
    ...(use.volume === undefined ? {} : { volume: [{ time: TIME, name: 'cache', usedBytes: use.volume }] }),
    ...(use.total === undefined ? {} : { 'ephemeral-storage': { time: TIME, usedBytes: use.total } }),
    process_stats: { process_count: use.processes ?? 1 },
  };
}

function setUp(config: Partial<KubeletConfiguration> = {}, pods: readonly (readonly [Pod, Use])[] = []) {
  const platform = createSimPlatform();
  const world: World = { ...CALM };
  const events: string[] = [];
  const killed: { name: string; grace: number; status: PodStatus }[] = [];
  const gone = new Set<string>();
  const reclaim = { images: () => undefined as void, calls: [] as string[] };
  const present = (): (readonly [Pod, Use])[] => pods.filter(([{ metadata }]) => !gone.has(metadata.uid!));
  const manager: EvictionManager = createEvictionManager(
    {
      platform,
      nodeRef: { kind: 'Node', name: 'n' },
      recorder: {
        event: (...[target, type, reason, message]) => {
          const name = 'metadata' in target ? target.metadata.name : (target as { name?: string }).name;
          events.push(`${type} ${reason} ${name}: ${message}`);
        },
      },
      nodeStats: async () => nodeStats(world),
      summary: async () => ({ node: nodeStats(world), pods: present().map(([p, use]) => podStats(p, use)) }),
      allocatableMemoryBytes: async () => 8 * GI,
      activePods: () => present().map(([p]) => p),
      killPod: async ({ pod: p, gracePeriodSeconds, changeStatus }) => {
        gone.add(p.metadata.uid!);
        killed.push({ name: p.metadata.name!, grace: gracePeriodSeconds, status: changeStatus({ phase: 'Running' }) });
      },
      removeUnusedContainers: async () => void reclaim.calls.push('containers'),
      removeUnusedImages: async () => {
        reclaim.calls.push('images');
        reclaim.images();
      },
      onPressureChange: () => void events.push('pressure'),
    },
    kubeletConfiguration({ nodeName: 'n', rootDirectory: '/k', ...config }),
  );
  const look = () => platform.clock.drive(manager.synchronize());
  const names = () => killed.map(({ name }) => name);
  return { platform, world, events, killed, names, reclaim, manager, look };
}

describe('the eviction manager', () => {
  it('does nothing while nothing is low', async () => {
    const t = setUp({}, [[pod('a'), { memory: 7 * GI }]]);
    await t.look();
    assert.deepEqual([t.names(), t.events, t.manager.pressure()], [[], [], { memory: false, disk: false, pid: false }]);
  });

  const pods: readonly (readonly [Pod, Use])[] = [
    [pod('modest', { request: '2Gi' }), { memory: GI, disk: GI, processes: 5 }],
    [pod('greedy', { request: '1Gi' }), { memory: 3 * GI, disk: 2 * GI, processes: 9 }],
    [pod('greedier'), { memory: 2.5 * GI, disk: 5 * GI, processes: 7 }],
    [pod('important', { request: '1Gi', priority: 1000 }), { memory: 6 * GI, disk: 9 * GI, processes: 50 }],
    [pod('critical', { priority: 2_000_000_000 }), { memory: 7 * GI, disk: 9 * GI, processes: 99 }],
  ];
  const orders: readonly [string, Partial<World>, Partial<KubeletConfiguration>, readonly string[]][] = [
    ['memory', { memoryBytes: 50 * MI }, {}, ['greedier', 'greedy', 'important', 'modest']],
    ['memory of all pods', { podsMemoryBytes: 8 * GI - 50 * MI }, {}, ['greedier', 'greedy', 'important', 'modest']],
    ['disk', { nodefsBytes: 5 * GI }, {}, ['greedier', 'greedy', 'modest', 'important']],
    ['inodes', { inodes: 10 }, {}, ['modest', 'greedy', 'greedier', 'important']],
    [
      'processes',
      { processes: 995 },
      { evictionHard: { 'pid.available': '1%' } },
      ['greedy', 'greedier', 'modest', 'important'],
    ],
  ];
  for (const [what, changes, config, order] of orders) {
    it(`evicts for ${what} one pod a look, in order, and never a critical one`, async () => {
      const t = setUp(config, pods);
      Object.assign(t.world, changes);
      for (let beat = 0; beat < 6; beat++) await t.look();
      assert.deepEqual(t.names(), order);
    });
  }

  it('reports for a pod with a pod-level memory request its use and its request', async () => {
    const own = pod('a');
    const resources = { requests: { memory: '3Gi' } };
    const t = setUp({}, [[{ ...own, spec: { ...own.spec!, resources } }, { memory: 2 * GI }]]);
    t.world.memoryBytes = 50 * MI;
    await t.look();
    const [{ status }] = t.killed as [(typeof t.killed)[0]];
    assert.match(
      status.message ?? '',
      /available: 50Mi\. Pod a was using 2Gi, request is 3Gi, has larger consumption of memory\. Container app was using 2Gi, request is 0, /,
    );
  });

  it('writes the reason into the status of the pod and an event', async () => {
    const t = setUp({}, [[pod('a', { request: '1Gi' }), { memory: 2 * GI }]]);
    t.world.memoryBytes = 50 * MI;
    await t.look();
    const message =
      'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. Container app was using 2Gi, request is 1Gi, has larger consumption of memory. ';
    assert.deepEqual(t.events, [
      'pressure',
      'Warning EvictionThresholdMet n: Attempting to reclaim memory',
      `Warning Evicted a: ${message}`,
    ]);
    const [{ grace, status }] = t.killed as [(typeof t.killed)[0]];
    const [condition] = status.conditions ?? [];
    assert.deepEqual(
      [
        grace,
        status.phase,
        status.reason,
        status.message,
        condition?.type,
        condition?.reason,
        condition?.observedGeneration,
      ],
      [1, 'Failed', 'Evicted', message, 'DisruptionTarget', 'TerminationByKubelet', 2],
    );
  });

  it('removes unused containers and images first, and stops when that was enough', async () => {
    const t = setUp({}, [[pod('a'), { disk: GI }]]);
    t.world.nodefsBytes = 5 * GI;
    t.reclaim.images = () => void (t.world.nodefsBytes = 50 * GI);
    await t.look();
    assert.deepEqual([t.reclaim.calls, t.names()], [['containers', 'images'], []]);
    assert.equal(t.manager.pressure().disk, true);
  });

  it('removes content, and evicts pods, of the file system that is low on space', async () => {
    const pods = [
      [pod('writer'), { disk: 2 * GI }],
      [pod('reader', { volumes: [{ name: 'cache', emptyDir: {} }] }), { volume: 3 * GI }],
    ] as const;
    const cases: readonly [string, Partial<World>, string, readonly string[]][] = [
      ['images run low', { imagefsBytes: GI }, 'writer', ['containers', 'images']],
      ['the node runs low, images and layers lie elsewhere', { imagefsBytes: 19 * GI, nodefsBytes: GI }, 'reader', []],
      ['images alone lie elsewhere and run low', { imagefsBytes: GI, split: true }, 'writer', ['images']],
      [
        'the node runs low, images alone lie elsewhere',
        { imagefsBytes: 19 * GI, nodefsBytes: GI, split: true },
        'reader',
        ['containers'],
      ],
    ];
    for (const [what, change, evicted, removed] of cases) {
      const t = setUp({}, pods);
      Object.assign(t.world, change);
      await t.look();
      assert.deepEqual([t.names(), t.reclaim.calls], [[evicted], removed], what);
    }
  });

  it('reports that thresholds of writable layers cannot be configured', async () => {
    const t = setUp({ evictionHard: { 'containerfs.available': '100Gi' } });
    await t.look();
    assert.equal(t.manager.pressure().disk, false);
    assert.ok(t.platform.log.entries.some(({ message }) => message.includes('found conflicting containerfs eviction')));
  });

  it('continues until the minimum reclaim is free', async () => {
    const eviction = {
      ...kubeletConfiguration({ nodeName: '', rootDirectory: '' }).eviction,
      minimumReclaim: { 'memory.available': '1Gi' },
    };
    const t = setUp({ eviction }, [
      [pod('a'), { memory: 3 * GI }],
      [pod('b'), { memory: 2 * GI }],
    ]);
    t.world.memoryBytes = 50 * MI;
    await t.look();
    t.world.memoryBytes = 500 * MI;
    await t.look();
    t.world.memoryBytes = 2 * GI;
    await t.look();
    assert.deepEqual(t.names(), ['a', 'b']);
  });

  it('waits for the grace period of a soft threshold, and then gives pods theirs, bounded', async () => {
    const base = kubeletConfiguration({ nodeName: '', rootDirectory: '' }).eviction;
    const soft = { soft: { 'memory.available': '1Gi' }, softGracePeriodMs: { 'memory.available': 90_000 } };
    const t = setUp({ eviction: { ...base, ...soft, maxPodGracePeriodSeconds: 20 } }, [[pod('a'), { memory: GI }]]);
    t.world.memoryBytes = 500 * MI;
    await t.look();
    await t.platform.clock.advance(80_000);
    await t.look();
    assert.deepEqual([t.names(), t.manager.pressure().memory], [[], true]);
    await t.platform.clock.advance(10_000);
    await t.look();
    assert.deepEqual(
      t.killed.map(({ name, grace }) => [name, grace]),
      [['a', 20]],
    );
  });

  it('reports a pressure until it has been over for the transition period', async () => {
    const t = setUp();
    t.world.memoryBytes = 50 * MI;
    await t.look();
    t.world.memoryBytes = 4 * GI;
    await t.platform.clock.advance(290_000);
    await t.look();
    assert.equal(t.manager.pressure().memory, true);
    await t.platform.clock.advance(10_000);
    await t.look();
    assert.equal(t.manager.pressure().memory, false);
    assert.deepEqual(t.events.filter((event) => event === 'pressure').length, 2);
  });

  const limits: readonly [string, Pod, Use, string | undefined][] = [
    ['a container within its limit', pod('a', { storageLimit: '1Gi' }), { disk: GI }, undefined],
    [
      'a pod past its containers’ limits',
      pod('a', { storageLimit: '1Gi' }),
      { disk: GI + 1 },
      'Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ',
    ],
    [
      'a pod whose hosts file and termination messages pass its containers’ limits',
      pod('a', { storageLimit: '1Gi' }),
      { disk: MI, total: GI + 1 },
      'Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. ',
    ],
    [
      'a volume past its limit',
      pod('a', { volumes: [{ name: 'cache', emptyDir: { sizeLimit: '10Mi' } }] }),
      { volume: 11 * MI },
      'Usage of EmptyDir volume "cache" exceeds the limit "10Mi". ',
    ],
    [
      'one container past its own limit though the pod is not',
      {
        ...pod('a'),
        spec: {
          containers: [
            { name: 'app', resources: { limits: { 'ephemeral-storage': '1Gi' } } },
            { name: 'calm', resources: { limits: { 'ephemeral-storage': '5Gi' } } },
          ],
        },
      },
      { disk: 2 * GI },
      'Container app exceeded its local ephemeral storage limit "1Gi". ',
    ],
  ];
  for (const [name, given, use, message] of limits) {
    it(`judges ${name}`, async () => {
      const t = setUp({}, [[given, use]]);
      await t.look();
      assert.deepEqual(
        t.killed.map(({ status }) => status.message),
        message === undefined ? [] : [message],
      );
    });
  }

  it('admits pods under pressure that do not add to it', async () => {
    const t = setUp();
    t.world.memoryBytes = 50 * MI;
    await t.look();
    const refused = { admit: false, reason: 'Evicted', message: 'The node had condition: [MemoryPressure]. ' };
    const taint = { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' } as const;
    assert.deepEqual(t.manager.admit(pod('best effort')), refused);
    assert.deepEqual(t.manager.admit(pod('bears it', { tolerations: [taint] })), { admit: true });
    assert.deepEqual(t.manager.admit(pod('burstable', { request: '1Gi' })), { admit: true });
    assert.deepEqual(t.manager.admit(pod('critical', { priority: 2_000_000_000 })), { admit: true });
    t.world.nodefsBytes = GI;
    await t.look();
    assert.deepEqual(t.manager.admit(pod('burstable', { request: '1Gi' })), {
      ...refused,
      message: 'The node had condition: [DiskPressure MemoryPressure]. ',
    });
  });
});
