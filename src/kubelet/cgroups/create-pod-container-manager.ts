/**
 * The cgroups of pods, of QoS classes and of all pods together. Upstream: pkg/kubelet/cm (container_manager_linux,
 * node_container_manager_linux, qos_container_manager_linux, pod_container_manager_linux).
 *
 * `/kubepods` limits all pods to the node's allocatable resources. Guaranteed pods are its children; the others are
 * below `/kubepods/burstable` (its CPU shares are the sum of their requests) and `/kubepods/besteffort` (the minimum
 * of shares).
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { podQosClass } from '../../api/pod-qos.ts';
import { onAbort } from '../../base/abort.ts';
import { errorMessage } from '../../base/errors.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import { podRequests } from '../../component-helpers/pod-resources.ts';
import type { CgroupResources } from '../../platform/cgroups.ts';
import { milliCpuToShares } from '../runtime/linux-resources.ts';
import { podUid } from '../types/pod-update.ts';
import {
  type PodContainerManagerConfig,
  type PodContainerManagerDeps,
  reservedLimits,
} from './pod-container-config.ts';
import type { PodContainerManager } from './pod-container-manager.ts';
import { MIN_CPU_SHARES, resourceConfigForPod } from './pod-resource-config.ts';

/** Names of cgroups below the instance's root, for statistics. */
export interface PodCgroups {
  /** Holds all pods; undefined when pods have no cgroups of their own. */
  readonly rootName: string | undefined;
  cgroupName(pod: Pod): string | undefined;
}

const QOS_PERIOD_MS = 60_000;
const POD_PREFIX = 'pod';

/** No cgroup is changed before `start`. */
export function createPodContainerManager(
  deps: PodContainerManagerDeps,
  config: PodContainerManagerConfig,
): PodContainerManager & PodCgroups {
  return config.cgroupsPerQos ? new QosPodContainers(deps, config) : withoutPodCgroups(deps, config);
}

class QosPodContainers implements PodContainerManager, PodCgroups {
  readonly #deps: PodContainerManagerDeps;
  readonly #config: PodContainerManagerConfig;
  readonly rootName: string;
  readonly #parents: Readonly<Record<ReturnType<typeof podQosClass>, string>>;
  readonly #mutex = new KeyedMutex();
  #burstableShares = 0;
  readonly #memoryLimits = new Map<string, number>();

  constructor(deps: PodContainerManagerDeps, config: PodContainerManagerConfig) {
    this.#deps = deps;
    this.#config = config;
    this.rootName = `${config.cgroupRoot === '/' ? '' : config.cgroupRoot}/kubepods`;
    this.#parents = {
      Guaranteed: this.rootName,
      Burstable: `${this.rootName}/burstable`,
      BestEffort: `${this.rootName}/besteffort`,
    };
  }

  async start(signal: AbortSignal): Promise<void> {
    const { cgroups, platform } = this.#deps;
    await cgroups.create(this.rootName, {});
    await cgroups.create(this.#parents.BestEffort, { cpuShares: MIN_CPU_SHARES });
    await cgroups.create(this.#parents.Burstable, {});
    await this.#updateQos();
    await this.#enforceAllocatable();
    await this.#enforceReserved('system');
    await this.#enforceReserved('kube');
    const cancel = platform.clock.setTicker(QOS_PERIOD_MS, () => {
      this.#updateQos().catch((error: unknown) => platform.log.error('Failed to reserve QoS requests', { err: error }));
    });
    onAbort(signal, cancel);
  }

  async ensurePodCgroup(pod: Pod): Promise<void> {
    const name = this.cgroupName(pod);
    await this.#mutex.run(podUid(pod), async () => {
      if (await this.#deps.cgroups.exists(name)) return;
      await this.#updateQos();
      await this.#deps.cgroups.create(name, this.#limitsOf(pod));
    });
  }

  async updatePodCgroup(pod: Pod): Promise<void> {
    const [name, limits] = [this.cgroupName(pod), this.#limitsOf(pod)];
    await this.#mutex.run(podUid(pod), async () => {
      const refusal = await this.memoryRefusal(pod);
      if (refusal !== undefined) throw new Error(`cannot decrease memory limits: ${refusal}`);
      await this.#deps.cgroups.update(name, await this.#withoutSameMemory(name, limits));
    });
    await this.#updateQos();
  }

  /** A limit below the current usage would make the kernel kill the pod's processes. Other limits are not refused. */
  async memoryRefusal(pod: Pod): Promise<string | undefined> {
    const [name, { memoryMaxBytes: wanted }] = [this.cgroupName(pod), this.#limitsOf(pod)];
    if (typeof wanted !== 'number') return undefined;
    const inForce = await this.#deps.cgroups.memoryMax(name);
    if (inForce !== 'max' && inForce <= wanted) return undefined;
    const { memoryUsageBytes } = await this.#deps.cgroups.stats(name);
    if (memoryUsageBytes < wanted) return undefined;
    return `attempting to set pod memory limit (${wanted}) below current usage (${memoryUsageBytes})`;
  }

  /** Leaves out a memory limit that does not change. */
  async #withoutSameMemory(name: string, { memoryMaxBytes, ...others }: CgroupResources): Promise<CgroupResources> {
    if (memoryMaxBytes === undefined || memoryMaxBytes === (await this.#deps.cgroups.memoryMax(name))) return others;
    return { ...others, memoryMaxBytes };
  }

  podCgroupExists(pod: Pod): Promise<boolean> {
    return this.#deps.cgroups.exists(this.cgroupName(pod));
  }

  criParent(pod: Pod): string {
    return this.#deps.cgroups.criParent(this.cgroupName(pod));
  }

  async destroyPodCgroup(uid: string): Promise<void> {
    await this.#mutex.run(uid, async () => {
      for (const parent of Object.values(this.#parents)) {
        const name = `${parent}/${POD_PREFIX}${uid}`;
        if (await this.#deps.cgroups.exists(name)) await this.#deps.cgroups.destroy(name);
      }
    });
    await this.#updateQos();
  }

  async podUids(): Promise<readonly string[]> {
    const uids = new Set<string>();
    for (const parent of Object.values(this.#parents)) {
      for (const child of await this.#deps.cgroups.children(parent)) {
        if (child.startsWith(POD_PREFIX)) uids.add(child.slice(POD_PREFIX.length));
      }
    }
    return [...uids].sort();
  }

  cgroupName(pod: Pod): string {
    return `${this.#parents[podQosClass(pod)]}/${POD_PREFIX}${podUid(pod)}`;
  }

  #limitsOf(pod: Pod): CgroupResources {
    const enforceCpuLimits = this.#config.enforceCpuLimits && this.#deps.withoutCpuQuota?.(pod) !== true;
    return resourceConfigForPod(pod, { ...this.#config, enforceCpuLimits });
  }

  async #updateQos(): Promise<void> {
    let milliCpu = 0;
    for (const pod of this.#deps.activePods()) {
      if (podQosClass(pod) === 'Burstable') milliCpu += podRequests(pod).requests.milliCpu;
    }
    const shares = milliCpuToShares(milliCpu);
    if (shares !== this.#burstableShares) {
      await this.#deps.cgroups.update(this.#parents.Burstable, { cpuShares: shares });
      this.#burstableShares = shares;
    }
    await this.#reserveMemory();
  }

  /** Limits lower QoS classes to memory that higher ones have not requested. Upstream: setMemoryReserve and its retry. */
  async #reserveMemory(): Promise<void> {
    const percent = this.#config.qosReservedMemoryPercent ?? 0;
    if (percent === 0) return;
    const requested = { Guaranteed: 0, Burstable: 0, BestEffort: 0 };
    for (const pod of this.#deps.activePods()) requested[podQosClass(pod)] += podRequests(pod).requests.memoryBytes;
    const { memoryBytes } = await this.#deps.nodeAllocatable();
    const burstable = memoryBytes - Math.floor((requested.Guaranteed * percent) / 100);
    const bestEffort = burstable - Math.floor((requested.Burstable * percent) / 100);
    await this.#limitMemory(this.#parents.Burstable, Math.max(0, burstable));
    await this.#limitMemory(this.#parents.BestEffort, Math.max(0, bestEffort));
  }

  /**
   * The kernel may refuse a limit below the current usage: the limit is then set to that usage, so that it cannot
   * grow.
   */
  async #limitMemory(name: string, memoryMaxBytes: number): Promise<void> {
    if (this.#memoryLimits.get(name) === memoryMaxBytes) return;
    const { cgroups, platform } = this.#deps;
    try {
      await cgroups.update(name, { memoryMaxBytes });
      this.#memoryLimits.set(name, memoryMaxBytes);
    } catch (error) {
      const inUse = (await cgroups.stats(name)).memoryUsageBytes;
      platform.log.warn('Cannot reserve memory, the class uses more', {
        cgroup: name,
        memoryMaxBytes,
        inUse,
        err: error,
      });
      await cgroups.update(name, { memoryMaxBytes: Math.max(inUse, memoryMaxBytes) });
    }
  }

  async #enforceReserved(whose: 'system' | 'kube'): Promise<void> {
    const { enforceNodeAllocatable, reserved } = this.#config;
    const whole = enforceNodeAllocatable.includes(`${whose}-reserved`);
    if (reserved === undefined || (!whole && !enforceNodeAllocatable.includes(`${whose}-reserved-compressible`)))
      return;
    const { cgroup, amounts } = reserved[whose];
    const { recorder, nodeRef, cgroups } = this.#deps;
    const title = whose === 'system' ? 'System' : 'Kube';
    try {
      if (!(await cgroups.exists(cgroup))) throw new Error(`${cgroup} cgroup does not exist`);
      await cgroups.update(cgroup, reservedLimits(amounts, whole));
    } catch (error) {
      const text = errorMessage(error);
      const message = `Failed to enforce ${title} Reserved Cgroup Limits on "${cgroup}": ${text}`;
      if (nodeRef !== undefined) recorder?.event(nodeRef, 'Warning', 'FailedNodeAllocatableEnforcement', message);
      throw new Error(message, { cause: error });
    }
    const done = `Updated limits on ${whose} reserved cgroup ${cgroup}`;
    if (nodeRef !== undefined) recorder?.event(nodeRef, 'Normal', 'NodeAllocatableEnforced', done);
  }

  async #enforceAllocatable(): Promise<void> {
    if (!this.#config.enforceNodeAllocatable.includes('pods')) return;
    const { recorder, nodeRef } = this.#deps;
    const { milliCpu, memoryBytes, pids } = await this.#deps.nodeAllocatable();
    const limits = {
      cpuShares: milliCpuToShares(milliCpu),
      memoryMaxBytes: memoryBytes,
      ...(pids === undefined ? {} : { pidsMax: pids }),
    };
    try {
      await this.#deps.cgroups.update(this.rootName, limits);
    } catch (error) {
      const text = errorMessage(error);
      const message = `Failed to update Node Allocatable Limits "${this.rootName}": ${text}`;
      if (nodeRef !== undefined) recorder?.event(nodeRef, 'Warning', 'FailedNodeAllocatableEnforcement', message);
      throw new Error(message, { cause: error });
    }
    if (nodeRef !== undefined)
      recorder?.event(nodeRef, 'Normal', 'NodeAllocatableEnforced', 'Updated Node Allocatable limit across pods');
  }
}

/** Containers are directly below the root: no cgroup is created, limited or removed per pod. */
function withoutPodCgroups(
  { cgroups }: PodContainerManagerDeps,
  { cgroupRoot }: PodContainerManagerConfig,
): PodContainerManager & PodCgroups {
  return {
    rootName: undefined,
    cgroupName: () => undefined,
    start: () => cgroups.create(cgroupRoot, {}),
    ensurePodCgroup: () => Promise.resolve(),
    updatePodCgroup: () => Promise.resolve(),
    memoryRefusal: () => Promise.resolve(undefined),
    podCgroupExists: () => Promise.resolve(true),
    criParent: () => cgroups.criParent(cgroupRoot),
    destroyPodCgroup: () => Promise.resolve(),
    podUids: () => Promise.resolve([]),
  };
}
