/** Pod and QoS cgroups on a simulated host. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, ResourceRequirements } from '../../api/gen/core-v1.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createPodContainerManager } from './create-pod-container-manager.ts';
import type { PodContainerManagerConfig, PodContainerManagerDeps } from './pod-container-config.ts';
import { type PodResourceOptions, resourceConfigForPod } from './pod-resource-config.ts';

const options: PodResourceOptions = { enforceCpuLimits: true, cpuQuotaPeriodUs: 100_000, hugePageSizesBytes: [] };

function podOf(uid: string, ...resources: ResourceRequirements[]): Pod {
  return {
    metadata: { name: uid, namespace: 'default', uid },
    spec: { containers: resources.map((own, index) => ({ name: `c${index}`, resources: own })) },
  };
}

const cpuMemory = (cpu: string, memory: string): Record<string, string> => ({ cpu, memory });

test('limits by class', () => {
  const cases: readonly (readonly [string, Pod, Partial<PodResourceOptions>, object])[] = [
    [
      'guaranteed',
      podOf('g', { requests: cpuMemory('1', '1Gi'), limits: cpuMemory('1', '1Gi') }),
      {},
      { cpuShares: 1024, cpuQuotaUs: 100_000, cpuPeriodUs: 100_000, memoryMaxBytes: 2 ** 30 },
    ],
    [
      'guaranteed without quota',
      podOf('g', { requests: cpuMemory('1', '1Gi'), limits: cpuMemory('1', '1Gi') }),
      { enforceCpuLimits: false },
      { cpuShares: 1024, cpuQuotaUs: 'max', cpuPeriodUs: 100_000, memoryMaxBytes: 2 ** 30 },
    ],
    ['best effort', podOf('b', {}), {}, { cpuShares: 2 }],
    ['burstable, requests alone', podOf('u', { requests: { cpu: '250m' } }), {}, { cpuShares: 256 }],
    [
      'burstable, one container without a limit',
      podOf('u', { requests: { cpu: '100m' }, limits: { cpu: '200m' } }, { requests: { cpu: '100m' } }),
      {},
      { cpuShares: 204 },
    ],
    [
      'burstable, memory limited everywhere',
      podOf('u', { requests: { cpu: '100m' }, limits: { memory: '10Mi' } }, { limits: { memory: '20Mi' } }),
      {},
      { cpuShares: 102, memoryMaxBytes: 30 * 2 ** 20 },
    ],
    [
      'a tiny limit',
      podOf('g', { requests: cpuMemory('1m', '1Mi'), limits: cpuMemory('1m', '1Mi') }),
      {},
      { cpuShares: 2, cpuQuotaUs: 1000, cpuPeriodUs: 100_000, memoryMaxBytes: 2 ** 20 },
    ],
    [
      'processes and huge pages',
      podOf('u', { requests: { cpu: '1', 'hugepages-2Mi': '4Mi' }, limits: { 'hugepages-2Mi': '4Mi' } }),
      { podPidsLimit: 100, hugePageSizesBytes: [2 ** 21, 2 ** 30] },
      { cpuShares: 1024, pidsMax: 100, hugePageLimits: { '2MB': 2 ** 22, '1GB': 0 } },
    ],
  ];
  for (const [name, pod, change, expected] of cases)
    assert.deepEqual(resourceConfigForPod(pod, { ...options, ...change }), expected, name);
});

test('sidecars add to the limits, init containers raise them', () => {
  const pod = podOf('u', { requests: { cpu: '1' }, limits: cpuMemory('1', '10Mi') });
  const withInit: Pod = {
    ...pod,
    spec: {
      ...pod.spec!,
      overhead: { memory: '1Mi' },
      initContainers: [
        { name: 'side', restartPolicy: 'Always', resources: { limits: cpuMemory('1', '5Mi') } },
        { name: 'init', resources: { limits: cpuMemory('4', '2Mi') } },
      ],
    },
  };
  const { cpuQuotaUs, memoryMaxBytes } = resourceConfigForPod(withInit, options);
  assert.deepEqual([cpuQuotaUs, memoryMaxBytes], [500_000, 16 * 2 ** 20]);
});

function createFixture(change: Partial<PodContainerManagerConfig> = {}, deps: Partial<PodContainerManagerDeps> = {}) {
  const platform = createSimPlatform();
  const active: Pod[] = [];
  const events: string[] = [];
  const manager = createPodContainerManager(
    {
      cgroups: platform.cgroups,
      platform,
      activePods: () => active,
      nodeAllocatable: async () => ({ milliCpu: 4000, memoryBytes: 2 ** 33, pids: 1000 }),
      recorder: { event: (_target, _type, reason) => void events.push(reason) },
      nodeRef: { kind: 'Node', name: 'node-1' },
      ...deps,
    },
    { ...options, cgroupRoot: '/', cgroupsPerQos: true, enforceNodeAllocatable: ['pods'], ...change },
  );
  return { platform, active, events, manager };
}

test("the tree, the node's limits and the burstable shares", async () => {
  const { platform, active, events, manager } = createFixture();
  const controller = new AbortController();
  await manager.start(controller.signal);
  const resources = (name: string) => platform.cgroups.groups.get(name)?.resources;
  assert.deepEqual(resources('/kubepods'), { cpuShares: 4096, memoryMaxBytes: 2 ** 33, pidsMax: 1000 });
  assert.deepEqual(resources('/kubepods/besteffort'), { cpuShares: 2 });
  assert.deepEqual(resources('/kubepods/burstable'), { cpuShares: 2 });
  assert.deepEqual(events, ['NodeAllocatableEnforced']);
  const [burstable, best, guaranteed] = [
    podOf('u', { requests: { cpu: '500m' } }),
    podOf('b', {}),
    podOf('g', { requests: cpuMemory('1', '1Gi'), limits: cpuMemory('1', '1Gi') }),
  ];
  active.push(burstable, best, guaranteed);
  for (const pod of active) await manager.ensurePodCgroup(pod);
  assert.deepEqual(resources('/kubepods/burstable'), { cpuShares: 512 });
  assert.ok(platform.cgroups.groups.has('/kubepods/burstable/podu'));
  assert.ok(platform.cgroups.groups.has('/kubepods/besteffort/podb'));
  assert.ok(platform.cgroups.groups.has('/kubepods/podg'));
  assert.equal(manager.criParent(best), '/keelson/kubepods/besteffort/podb');
  assert.deepEqual(await manager.podUids(), ['b', 'g', 'u']);
  active.shift();
  await manager.destroyPodCgroup('u');
  assert.equal(await manager.podCgroupExists(burstable), false);
  assert.deepEqual(resources('/kubepods/burstable'), { cpuShares: 2 });
  controller.abort();
  assert.equal(platform.clock.pendingTimers, 0);
});

test('pods with processors of their own have no quota', async () => {
  const resources = { requests: cpuMemory('1', '1Gi'), limits: cpuMemory('1', '1Gi') };
  const [alone, shared] = [podOf('alone', resources), podOf('shared', resources)];
  const { platform, manager } = createFixture({}, { withoutCpuQuota: ({ metadata }) => metadata.uid === 'alone' });
  await manager.start(new AbortController().signal);
  for (const pod of [alone, shared]) await manager.ensurePodCgroup(pod);
  const quotaOf = (name: string) => platform.cgroups.groups.get(`/kubepods/pod${name}`)?.resources.cpuQuotaUs;
  assert.deepEqual([quotaOf('alone'), quotaOf('shared')], ['max', 100_000]);
});

test('memory requests of better classes are protected from lower ones, as far as memory is free', async () => {
  const { platform, active, manager } = createFixture({ qosReservedMemoryPercent: 50 });
  active.push(
    podOf('g', { requests: cpuMemory('1', '2Gi'), limits: cpuMemory('1', '2Gi') }),
    podOf('u', { requests: { memory: '1Gi' } }),
  );
  await manager.start(new AbortController().signal);
  const limit = (name: string) => platform.cgroups.groups.get(`/kubepods/${name}`)?.resources.memoryMaxBytes;
  assert.deepEqual([limit('burstable'), limit('besteffort')], [7 * 2 ** 30, 6.5 * 2 ** 30]);
  const { update } = platform.cgroups;
  const best = platform.cgroups.groups.get('/kubepods/besteffort')!;
  best.stats = { ...best.stats, memoryUsageBytes: 6.25 * 2 ** 30 };
  platform.cgroups.update = async (name, resources) => {
    const { memoryMaxBytes = 'max' } = resources;
    const inUse = platform.cgroups.groups.get(name)!.stats.memoryUsageBytes;
    if (memoryMaxBytes !== 'max' && memoryMaxBytes < inUse) throw new Error('EBUSY');
    await update(name, resources);
  };
  active.push(podOf('v', { requests: { memory: '2Gi' } }));
  await manager.ensurePodCgroup(active[2]!);
  assert.deepEqual([limit('burstable'), limit('besteffort')], [7 * 2 ** 30, 6.25 * 2 ** 30], 'no more than is in use');
  best.stats = { ...best.stats, memoryUsageBytes: 0 };
  await platform.clock.advance(60_000);
  assert.equal(limit('besteffort'), 5.5 * 2 ** 30, 'tried again');
});

test('without QoS cgroups pods lie at the root', async () => {
  const { manager } = createFixture({ cgroupsPerQos: false, cgroupRoot: '/all' });
  await manager.start(new AbortController().signal);
  assert.equal(manager.criParent(podOf('b', {})), '/keelson/all');
  assert.deepEqual(await manager.podUids(), []);
});

test('the cgroups of the system and of Kubernetes are held to their reservations', async () => {
  const platform = createSimPlatform();
  const { cgroups } = platform;
  const events: string[] = [];
  const config: PodContainerManagerConfig = {
    ...options,
    cgroupRoot: '/',
    cgroupsPerQos: true,
    enforceNodeAllocatable: ['system-reserved', 'kube-reserved-compressible'],
    reserved: {
      system: { cgroup: '/system', amounts: { cpu: '500m', memory: '1Gi', pid: '100' } },
      kube: { cgroup: '/kube', amounts: { cpu: '1', memory: '1Gi' } },
    },
  };
  const updates: [string, object][] = [];
  const watched = {
    ...cgroups,
    update: async (name: string, resources: object) => void updates.push([name, resources]),
  };
  const manager = createPodContainerManager(
    {
      cgroups: watched,
      platform,
      activePods: () => [],
      nodeAllocatable: async () => ({ milliCpu: 1000, memoryBytes: 1 }),
      nodeRef: { kind: 'Node', name: 'n' },
      recorder: { event: (...[, , reason, message]) => void events.push(`${reason}: ${message}`) },
    },
    config,
  );
  const start = () => platform.clock.drive(manager.start(new AbortController().signal));
  await assert.rejects(start(), {
    message: 'Failed to enforce System Reserved Cgroup Limits on "/system": /system cgroup does not exist',
  });
  await cgroups.create('/system', {});
  await cgroups.create('/kube', {});
  await start();
  assert.deepEqual(updates.slice(-2), [
    ['/system', { cpuShares: 512, memoryMaxBytes: 2 ** 30, pidsMax: 100 }],
    ['/kube', { cpuShares: 1024 }],
  ]);
  assert.equal(events.at(-1), 'NodeAllocatableEnforced: Updated limits on kube reserved cgroup /kube');
});
