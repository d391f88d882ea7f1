/** Resize of a pod's own resources: cgroups, containers that live by the pod's limits, conditions, status. */
import { addInt64 } from '../../api/int64.ts';
import assert from 'node:assert/strict';
import { afterEach, describe, it } from 'node:test';
import type { Container, Pod, PodSpec, ResourceRequirements } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import { image } from '../../cri/sim/sim-image.ts';
import type { CriRuntime } from '../../cri/runtime-service.ts';
import { createSimRuntime, type SimRuntime } from '../../cri/sim/sim-runtime.ts';
import type { CgroupResources } from '../../platform/cgroups.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { createPodContainerManager } from '../cgroups/create-pod-container-manager.ts';
import { createKubeletFixture, type KubeletFixture } from '../fixtures/kubelet-fixture.ts';
import { createContainerRuntime } from '../runtime/container-runtime.ts';
import { createWorld, fixtureConfig, fixtureDeps } from '../runtime/runtime-fixture.ts';

const MI = 2 ** 20;
const running: KubeletFixture[] = [];
afterEach(async () => {
  for (const fixture of running.splice(0)) await fixture.stop();
});

function resources(cpu: string, memory: string): ResourceRequirements {
  return { requests: { cpu, memory }, limits: { cpu, memory } };
}

async function started() {
  const platform = createSimPlatform();
  const sim = createSimRuntime(platform, { images: [image('web:1')] });
  const updates: (number | undefined)[][] = [];
  const updateContainerResources: CriRuntime['runtime']['updateContainerResources'] = (request) => {
    updates.push([request.linux?.memoryLimitInBytes, request.linux?.cpuQuota]);
    return sim.runtime.updateContainerResources(request);
  };
  const cri: SimRuntime = {
    ...sim,
    runtime: new Proxy(sim.runtime, {
      get: (target, name) =>
        name === 'updateContainerResources' ? updateContainerResources : Reflect.get(target, name),
    }),
  };
  const cgroupWrites: CgroupResources[] = [];
  let refusals = 0;
  const podContainers = createPodContainerManager(
    {
      platform,
      cgroups: {
        ...platform.cgroups,
        update(name, limits) {
          if (name.includes('/pod') && refusals > 0 && --refusals === 0) throw new Error('device or resource busy');
          if (name.includes('/pod')) cgroupWrites.push(limits);
          return platform.cgroups.update(name, limits);
        },
      },
      activePods: () => [],
      nodeAllocatable: async () => ({ milliCpu: 4000, memoryBytes: 2 ** 33 }),
    },
    {
      cgroupRoot: '',
      cgroupsPerQos: true,
      enforceNodeAllocatable: [],
      enforceCpuLimits: true,
      cpuQuotaPeriodUs: 100_000,
      hugePageSizesBytes: [],
    },
  );
  const fixture = createKubeletFixture({
    platform,
    podContainers,
    runtime: (core) =>
      createContainerRuntime(
        {
          ...fixtureDeps(cri, platform, createWorld()),
          probeResults: core.probeResults,
          podContainers,
          actuated: core.allocations,
        },
        fixtureConfig('/var'),
      ),
  });
  running.push(fixture);
  await fixture.start();
  const limitsOf = (name: string) => {
    const uid = fixture.pod(name)!.metadata.uid!;
    return [...platform.cgroups.groups].find(([path]) => path.endsWith(uid))![1].resources;
  };
  const put = (name: string, spec: Partial<PodSpec>): void => {
    const pod = fixture.pod(name)!;
    const metadata = { ...pod.metadata, generation: addInt64(pod.metadata.generation ?? 0, 1) };
    fixture.cluster.put(Pods, { ...pod, metadata, spec: { ...pod.spec!, ...spec } });
  };
  const use = (name: string, memoryUsageBytes: number): void => {
    const uid = fixture.pod(name)!.metadata.uid!;
    const group = [...platform.cgroups.groups].find(([path]) => path.endsWith(uid))![1];
    group.stats = { ...group.stats, memoryUsageBytes };
  };
  const resize = (name: string, own: ResourceRequirements): void => put(name, { resources: own });
  /** The write of a pod's cgroup after so many that succeed fails. */
  const refuse = (after: number): void => void (refusals = after + 1);
  const until = (what: (pod: Pod) => boolean): Promise<unknown> =>
    platform.clock.runUntil(() => what(fixture.pod('web')!), 30_000);
  return { ...fixture, cri, updates, cgroupWrites, limitsOf, put, use, refuse, resize, until };
}

const resizing = ({ status }: Pod): string[] =>
  (status?.conditions ?? [])
    .filter(({ type }) => type.startsWith('PodResize'))
    .map(({ type, reason }) => `${type} ${reason}`);

describe('resize of a pod as a whole', () => {
  const app = (more: Partial<Container> = {}): Container => ({ name: 'app', image: 'web:1', ...more });

  it('changes its cgroup and the containers without their own limits, and reports the resources in force', async () => {
    const t = await started();
    const own = { ...app({ name: 'own' }), resources: { limits: { cpu: '100m', memory: '16Mi' } } };
    const containers = [app(), own];
    t.addPod('web', { spec: { containers, resources: resources('500m', '64Mi') }, qosClass: 'Guaranteed' });
    await t.until(() => t.summary('web') === 'Running true');
    assert.deepEqual(t.pod('web')!.status!.resources, resources('500m', '64Mi'));
    assert.deepEqual(t.pod('web')!.status!.allocatedResources, { cpu: '500m', memory: '64Mi' });
    assert.deepEqual([t.limitsOf('web').memoryMaxBytes, t.limitsOf('web').cpuQuotaUs], [64 * MI, 50_000]);
    const made = [...t.cri.containers.values()].map(({ init }) => init.config?.linux?.resources?.memoryLimitInBytes);
    assert.deepEqual(made.toSorted(), [16 * MI, 64 * MI]);

    t.resize('web', resources('1', '96Mi'));
    await t.until(({ status }) => status?.resources?.limits?.['memory'] === '96Mi');
    await t.until((pod) => resizing(pod).length === 0);
    const { status } = t.pod('web')!;
    assert.deepEqual(status!.resources, resources('1', '96Mi'));
    assert.deepEqual(status!.allocatedResources, { cpu: '1', memory: '96Mi' });
    assert.deepEqual([t.limitsOf('web').memoryMaxBytes, t.limitsOf('web').cpuQuotaUs], [96 * MI, 100_000]);
    assert.deepEqual(t.updates, [[96 * MI, 100_000]]);
    assert.deepEqual(
      status!.containerStatuses!.map(({ restartCount }) => restartCount),
      [0, 0],
    );
    assert.equal(status!.containerStatuses![0]!.resources?.limits, undefined);
    const told = t.events.filter((event) => event.includes('Resize'));
    assert.equal(told.length, 2, told.join('\n'));
    assert.match(told[0]!, /^Normal ResizeStarted web: Pod resize started: \{"resources":\{"requests":\{"cpu":"1",/);
    assert.match(told[1]!, /^Normal ResizeCompleted web: /);
  });

  it('restarts a container that inherits its limits and whose resize policy requires it', async () => {
    const t = await started();
    const policy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    const containers = [app({ resizePolicy: policy })];
    t.addPod('web', { spec: { containers, resources: resources('500m', '64Mi') }, qosClass: 'Guaranteed' });
    await t.until(() => t.summary('web') === 'Running true');
    t.resize('web', resources('1', '64Mi'));
    await t.until(({ status }) => status?.resources?.limits?.['cpu'] === '1');
    assert.equal(t.pod('web')!.status!.containerStatuses![0]!.restartCount, 0);
    t.resize('web', resources('1', '96Mi'));
    await t.until(({ status }) => status?.containerStatuses?.[0]?.restartCount === 1);
    await t.until((pod) => resizing(pod).length === 0);
    assert.equal(t.limitsOf('web').memoryMaxBytes, 96 * MI);
  });

  it('does not go below the memory in use, and reports that until it can', async () => {
    const t = await started();
    const containers = [{ ...app(), resources: { requests: { memory: '8Mi' }, limits: { memory: '8Mi', cpu: '1m' } } }];
    t.addPod('web', { spec: { containers, resources: resources('500m', '64Mi') }, qosClass: 'Guaranteed' });
    await t.until(() => t.summary('web') === 'Running true');
    t.use('web', 40 * MI);
    t.resize('web', resources('500m', '32Mi'));
    await t.until((pod) => resizing(pod).includes('PodResizeInProgress Error'));
    const { message } = t.pod('web')!.status!.conditions!.find(({ type }) => type === 'PodResizeInProgress')!;
    assert.equal(
      message,
      'cannot decrease memory limits: attempting to set pod memory limit (33554432) below current usage (41943040)',
    );
    assert.equal(t.pod('web')!.status!.resources!.limits!['memory'], '64Mi');
    t.use('web', 20 * MI);
    await t.platform.clock.runUntil(() => resizing(t.pod('web')!).length === 0, 300_000);
    assert.equal(t.limitsOf('web').memoryMaxBytes, 32 * MI);
  });

  it('touches nothing where a container that lives by the limit uses more', async () => {
    const t = await started();
    t.addPod('web', { spec: { containers: [app()], resources: resources('500m', '64Mi') }, qosClass: 'Guaranteed' });
    await t.until(() => t.summary('web') === 'Running true');
    // The simulated container uses 10 MB by itself.
    t.resize('web', resources('500m', '8Mi'));
    t.use('web', 40 * MI);
    await t.until((pod) => resizing(pod).includes('PodResizeInProgress Error'));
    const { message } = t.pod('web')!.status!.conditions!.find(({ type }) => type === 'PodResizeInProgress')!;
    assert.equal(
      message,
      'cannot decrease memory limits: [attempting to set pod memory limit (8388608) below current usage (41943040), attempting to set container "app" memory limit (8388608) below current usage (10000000)]',
    );
    assert.deepEqual([t.updates, t.cgroupWrites], [[], []]);
    t.resize('web', resources('500m', '32Mi'));
    t.use('web', 20 * MI);
    await t.platform.clock.runUntil(() => resizing(t.pod('web')!).length === 0, 300_000);
    assert.deepEqual(t.updates, [[32 * MI, 50_000]]);
    assert.equal(t.limitsOf('web').memoryMaxBytes, 32 * MI);
  });

  it('changes the CPU of a pod whose memory is full, and raises its memory', async () => {
    const t = await started();
    t.addPod('web', { spec: { containers: [app()], resources: resources('500m', '64Mi') }, qosClass: 'Guaranteed' });
    await t.until(() => t.summary('web') === 'Running true');
    t.use('web', 64 * MI);
    t.resize('web', resources('1', '64Mi'));
    await t.until(({ status }) => status?.resources?.limits?.['cpu'] === '1');
    await t.until((pod) => resizing(pod).length === 0);
    assert.equal(t.limitsOf('web').cpuQuotaUs, 100_000);
    assert.deepEqual(
      t.cgroupWrites.filter(({ memoryMaxBytes }) => memoryMaxBytes !== undefined),
      [],
    );
    t.resize('web', resources('1', '96Mi'));
    await t.until(({ status }) => status?.resources?.limits?.['memory'] === '96Mi');
    assert.equal(t.limitsOf('web').memoryMaxBytes, 96 * MI);
  });

  it('does the last step again when it failed, though all containers have theirs', async () => {
    const t = await started();
    const sized = (cpu: string): PodSpec => ({ containers: [app({ resources: resources(cpu, '64Mi') })] });
    t.addPod('web', { spec: sized('1'), qosClass: 'Guaranteed' });
    await t.until(() => t.summary('web') === 'Running true');
    t.refuse(1);
    t.put('web', sized('500m'));
    await t.until((pod) => resizing(pod).includes('PodResizeInProgress Error'));
    await t.platform.clock.runUntil(() => resizing(t.pod('web')!).length === 0, 300_000);
    assert.match(
      t.events.join('\n'),
      /^Warning ResizeError web: Pod resize error: .*"error":"device or resource busy"\}$/m,
    );
    assert.deepEqual([t.updates.length, t.limitsOf('web').cpuQuotaUs], [1, 50_000]);
  });

  it('reports for pods without pod-level resources the sums of their containers', async () => {
    const t = await started();
    const one = { requests: { cpu: '100m', memory: '1Gi' }, limits: { memory: '1Gi' } };
    t.addPod('web', {
      spec: {
        containers: [
          { ...app(), resources: one },
          { ...app({ name: 'b' }), resources: one },
        ],
      },
    });
    await t.until(() => t.summary('web') === 'Running true');
    const { resources: inForce, allocatedResources } = t.pod('web')!.status!;
    assert.deepEqual(inForce, { requests: { cpu: '200m', memory: '2Gi' }, limits: { memory: '2Gi' } });
    assert.deepEqual(allocatedResources, { cpu: '200m', memory: '2Gi' });
  });
});
