/**
 * Allocates devices, exclusive CPUs, memory of NUMA nodes and claimed resources to containers, and frees them when
 * their pods are gone. Upstream: ContainerManager in pkg/kubelet/cm/container_manager_linux.go.
 *
 * One pod is admitted at a time. Before each admission the resources of pods that are gone are freed.
 */
import { podContainers } from '../../api/pod-containers.ts';
import type { Container, Node, Pod } from '../../api/gen/core-v1.ts';
import { onAbort } from '../../base/abort.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Log } from '../../platform/log.ts';
import type { AdmissionResult } from '../admission/predicate.ts';
import type { SourcesReady } from '../config/sources-ready.ts';
import { createCpuReconciler, type CpuReconciler, type UpdateCpuset } from '../cpu-manager/cpu-reconciler.ts';
import { formatCpuSet } from '../cpu-manager/cpu-set.ts';
import type { DeviceCapacity } from '../device-manager/device-inventory.ts';
import { sanitizeNodeAllocatable } from '../device-manager/node-allocatable.ts';
import { healthOfDevices, type ResourceHealthOf } from '../device-manager/resource-health.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { PodManager } from '../pod/pod-manager.ts';
import { startPodResourcesServer } from '../pod-resources/pod-resources-server.ts';
import type { PodWorkers } from '../pod-workers/pod-syncer.ts';
import type { ContainerDevices } from '../runtime/container-config.ts';
import { AllocationError } from '../topology-manager/hints.ts';
import { checkNumaNodes } from '../topology-manager/topology-manager.ts';
import { podUid } from '../types/pod-update.ts';
import { createResourceManagers, type ResourceManagers, type ResourceManagersDeps } from './resource-managers.ts';
import { rejectForeignCpuState } from './static-policy-managers.ts';

export interface ContainerManager {
  /** Reads the checkpoints of earlier runs and opens the sockets. Rejects when a checkpoint contradicts the configuration. */
  start(updateCpuset: UpdateCpuset, signal: AbortSignal): Promise<void>;
  /** Whether `admit` allocates anything for the pod. */
  allocatesFor(pod: Pod): boolean;
  /** Allocates what the pod's containers request. Upstream: GetAllocateResourcesPodAdmitHandler. */
  admit(pod: Pod): Promise<AdmissionResult>;
  /** The node with at least the allocated devices, whose plugins may be gone. Upstream: UpdatePluginResources. */
  sanitizeNodeAllocatable(node: Node | undefined, pod: Pod): Node | undefined;
  /** Upstream: GetDevicePluginResourceCapacity. */
  deviceCapacity(): DeviceCapacity;
  /** The devices and settings that the runtime must add to the container. Upstream: GetResources. */
  getResources(pod: Pod, container: Container): Promise<ContainerDevices | undefined>;
  /** Whether a container of the pod has exclusive processors, so that no CPU quota is set. Upstream: PodHasExclusiveCPUs. */
  withoutCpuQuota(pod: Pod): boolean;
  /** Has drivers prepare the devices of the pod's claims. */
  prepareDynamicResources(pod: Pod): Promise<void>;
  unprepareDynamicResources(podUid: string): Promise<void>;
  readonly resourceHealth: ResourceHealthOf;
}

export interface ContainerManagerDeps extends Omit<ResourceManagersDeps, 'onDevicesChanged'> {
  readonly podManager: Pick<PodManager, 'getPods'>;
  readonly podWorkers: Pick<PodWorkers, 'podsWithRuntime' | 'updatePod'>;
  readonly sourcesReady: SourcesReady;
  /** Uids of pods under admission. They keep their allocations and must not be synced yet. */
  readonly admitting: ReadonlySet<string>;
  /** Called when the node status must report other capacities. */
  readonly onCapacityChange: () => void;
}

/** The period in which claims of pods that are gone are looked for. Upstream: reconcileLoop of the DRA manager. */
const CLAIM_RECONCILE_PERIOD_MS = 60_000;
const NO_DEVICES: ContainerDevices = { devices: [], mounts: [], environment: {}, annotations: {}, cdiDevices: [] };

export function createContainerManager(deps: ContainerManagerDeps, config: KubeletConfiguration): ContainerManager {
  return new LinuxContainerManager(deps, config);
}

class LinuxContainerManager implements ContainerManager {
  readonly #deps: ContainerManagerDeps;
  readonly #config: KubeletConfiguration;
  readonly #log: Log;
  readonly #managers: ResourceManagers;
  readonly #reconciler: CpuReconciler | undefined;
  readonly #admission = new KeyedMutex();
  readonly resourceHealth: ResourceHealthOf;

  constructor(deps: ContainerManagerDeps, config: KubeletConfiguration) {
    this.#deps = deps;
    this.#config = config;
    this.#log = deps.platform.log;
    this.#managers = createResourceManagers(
      { ...deps, onDevicesChanged: (resource) => this.#handleDevicesChanged(resource) },
      config,
    );
    this.#reconciler = this.#createCpuReconciler();
    this.resourceHealth = healthOfDevices(this.#managers.devices.podDevices, this.#managers.inventory);
  }

  async start(updateCpuset: UpdateCpuset, signal: AbortSignal): Promise<void> {
    const { machine, devices, registration, cpu, memory, claimInfos, sliceWiper } = this.#managers;
    const { platform, serveSocket } = this.#deps;
    machine.topology = await platform.host.topology();
    checkNumaNodes(machine.topology.nodes.length, this.#config.topologyManager);
    if (cpu === undefined) await rejectForeignCpuState(platform.files, this.#config);
    await cpu?.start(machine.topology.cpus);
    await memory?.start(machine.topology.nodes);
    await devices.restore();
    await claimInfos.load();
    sliceWiper.wipeAll(signal);
    this.#startClaimReconciler(signal);
    await registration.start(signal);
    this.#reconciler?.start(updateCpuset, signal);
    await startPodResourcesServer(
      {
        ...this.#managers,
        clock: platform.clock,
        files: platform.files,
        log: platform.log.child('pod-resources'),
        serve: serveSocket,
        pods: () => this.#podsThatHoldResources(),
      },
      `${this.#config.rootDirectory}/pod-resources`,
      signal,
    );
  }

  allocatesFor(pod: Pod): boolean {
    const { devices, cpu, memory } = this.#managers;
    return devices.concerns(pod) || cpu?.concerns(pod) === true || memory?.concerns(pod) === true;
  }

  admit(pod: Pod): Promise<AdmissionResult> {
    return this.#admission.run('admit', async (): Promise<AdmissionResult> => {
      await this.#removeStaleState();
      try {
        await this.#managers.topology.admit(pod);
        this.#reconciler?.trigger();
        return { admit: true };
      } catch (error) {
        if (!(error instanceof AllocationError)) throw error;
        return { admit: false, reason: error.reason, message: error.message };
      }
    });
  }

  sanitizeNodeAllocatable(node: Node | undefined, pod: Pod): Node | undefined {
    return sanitizeNodeAllocatable(node, pod, (resource) => this.#managers.devices.allocated(resource));
  }

  deviceCapacity(): DeviceCapacity {
    return this.#managers.inventory.capacity();
  }

  async getResources(pod: Pod, container: Container): Promise<ContainerDevices | undefined> {
    const { devices, dra } = this.#managers;
    const fromPlugins = await devices.containerDevices(pod, container);
    const cpuset = this.#cpuset(pod, container);
    if (cpuset.cpusetCpus !== undefined)
      this.#reconciler?.containerCreated(podUid(pod), container.name, cpuset.cpusetCpus);
    const claimed = dra.cdiDevices(pod, container);
    if (fromPlugins === undefined && claimed.length === 0 && Object.keys(cpuset).length === 0) return undefined;
    const resources = fromPlugins ?? NO_DEVICES;
    return { ...resources, ...cpuset, cdiDevices: [...new Set([...resources.cdiDevices, ...claimed])] };
  }

  withoutCpuQuota({ metadata, spec }: Pod): boolean {
    const containers = podContainers(spec);
    return containers.some((container) => this.#isWithoutCpuQuota({ metadata }, container));
  }

  prepareDynamicResources(pod: Pod): Promise<void> {
    return this.#managers.dra.prepare(pod);
  }

  unprepareDynamicResources(uid: string): Promise<void> {
    return this.#managers.dra.unprepare(uid);
  }

  #isWithoutCpuQuota(pod: Pod, { name }: Container): boolean {
    if (this.#config.cpuManager.quotaOnExclusiveCpus) return false;
    return this.#managers.cpu?.exclusiveCpus(podUid(pod), name) !== undefined;
  }

  /** The processors and NUMA nodes that the container may use. */
  #cpuset(pod: Pod, container: Container): Pick<ContainerDevices, 'cpusetCpus' | 'cpusetMems' | 'withoutCpuQuota'> {
    const { cpu, memory } = this.#managers;
    const cpus = cpu?.cpusOf(podUid(pod), container.name) ?? [];
    const nodes = memory?.nodesOf(podUid(pod), container.name);
    return {
      ...(cpus.length === 0 ? {} : { cpusetCpus: formatCpuSet(cpus) }),
      ...(nodes === undefined ? {} : { cpusetMems: formatCpuSet(nodes) }),
      ...(this.#isWithoutCpuQuota(pod, container) ? { withoutCpuQuota: true as const } : {}),
    };
  }

  /** Frees the resources of pods that are gone. Upstream: removeStaleState of each manager. */
  async #removeStaleState(): Promise<void> {
    // Before every source has sent its pods, an unknown pod may still hold what an earlier run allocated to it.
    if (!this.#deps.sourcesReady.allReady()) return;
    const { devices, cpu, memory } = this.#managers;
    const uids = new Set([...this.#podsThatHoldResources().map(podUid), ...this.#deps.admitting]);
    devices.keepOnly(uids);
    await cpu?.keepOnly(uids);
    await memory?.keepOnly(uids);
  }

  /**
   * Desired pods whose containers run or may run. A pod deleted by force does not count while its containers end: the
   * scheduler has already placed other pods.
   */
  #podsThatHoldResources(): readonly Pod[] {
    const { podManager, podWorkers } = this.#deps;
    const desired = podManager.getPods();
    const uids = new Set(desired.map(podUid));
    return podWorkers.podsWithRuntime(desired).filter((pod) => uids.has(podUid(pod)));
  }

  #createCpuReconciler(): CpuReconciler | undefined {
    const { cpu } = this.#managers;
    if (cpu === undefined) return undefined;
    const { clock, log } = this.#deps.platform;
    return createCpuReconciler(
      {
        clock,
        log: log.child('cpu-manager'),
        cpuManager: cpu,
        release: () => this.#admission.run('admit', () => this.#removeStaleState()),
        pods: () => this.#podsThatHoldResources(),
        podStatus: (uid) => this.#deps.podCache.peek(uid),
      },
      this.#config.cpuManager.reconcilePeriodMs,
    );
  }

  /** Unprepares claims of pods that ended while no kubelet ran or whose driver was away. */
  #startClaimReconciler(signal: AbortSignal): void {
    const { platform, podManager, podWorkers, sourcesReady, admitting } = this.#deps;
    const cancel = platform.clock.setTicker(CLAIM_RECONCILE_PERIOD_MS, () => {
      if (!sourcesReady.allReady()) return;
      const uids = podWorkers.podsWithRuntime(podManager.getPods()).map(podUid);
      this.#managers.dra
        .keepOnly(new Set([...uids, ...admitting]))
        .catch((error: unknown) => this.#log.warn('Unpreparing resource claims failed, will retry', { err: error }));
    });
    onAbort(signal, cancel);
  }

  /** Updates the node's capacity and the statuses of pods with such devices. */
  #handleDevicesChanged(resource: string): void {
    const { podManager, podWorkers, admitting } = this.#deps;
    const { devices } = this.#managers;
    this.#deps.onCapacityChange();
    const affected = devices.podDevices.podUidsWith(resource);
    for (const pod of podManager.getPods())
      if (affected.has(podUid(pod)) && !admitting.has(podUid(pod))) podWorkers.updatePod({ pod, updateType: 'sync' });
    devices.save().catch((error: unknown) => {
      this.#log.error('Writing checkpoint of devices failed', { err: error });
    });
  }
}
