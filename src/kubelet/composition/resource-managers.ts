/**
 * The managers of what is given to containers piece by piece, put together: devices of plugins, processors, memory, and
 * how they lie together. Upstream: NewContainerManager in pkg/kubelet/cm/container_manager_linux.go.
 */
import { onAbort } from '../../base/abort.ts';
import type { Container, Node, Pod } from '../../api/gen/core-v1.ts';
import { ResourceClaims, ResourceSlices } from '../../api/gen/resources.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import { createSocketServer } from '../../grpc/socket-server.ts';
import type { HostTopology } from '../../platform/host.ts';
import type { AdmissionResult } from '../admission/predicate.ts';
import type { SourcesReady } from '../config/sources-ready.ts';
import type { CpuManager } from '../cpu-manager/cpu-manager.ts';
import { createCpuReconciler, type CpuReconciler } from '../cpu-manager/cpu-reconciler.ts';
import { formatCpuSet } from '../cpu-manager/cpu-set.ts';
import {
  createDeviceInventory,
  type DeviceCapacity,
  type DeviceInventory,
} from '../device-manager/device-inventory.ts';
import { createDeviceManager, type DeviceManager } from '../device-manager/device-manager.ts';
import { createClaimInfos, type ClaimInfos } from '../dra-manager/claim-info.ts';
import { createDraManager, type DraManager } from '../dra-manager/dra-manager.ts';
import { createSliceWiper, type SliceWiper } from '../dra-manager/slice-wiper.ts';
import { withHeldDevices } from '../device-manager/held-devices.ts';
import { createDeviceRegistration, type DeviceRegistration } from '../device-manager/registration.ts';
import { healthOfDevices, type ResourceHealthOf } from '../device-manager/resource-health.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { KubeletDeps } from '../kubelet-contract.ts';
import type { MemoryManager } from '../memory-manager/memory-manager.ts';
import type { PluginManager } from '../plugin-manager/plugin-manager.ts';
import type { PodManager } from '../pod/pod-manager.ts';
import type { PodCache } from '../container/pod-cache.ts';
import type { ContainerDevices } from '../runtime/container-config.ts';
import { startPodResourcesServer } from '../pod-resources/pod-resources-server.ts';
import { AllocationError } from '../topology-manager/hints.ts';
import { checkNumaNodes, createTopologyManager, type TopologyManager } from '../topology-manager/topology-manager.ts';
import { podUid } from '../types/pod-update.ts';
import type { LateBindings } from './late-bindings.ts';
import { cpuManagerOf, memoryManagerOf, refuseForeignCpuState } from './processor-managers.ts';

/** The managers as the kubelet uses them. */
export interface ResourceManagers {
  /** Reads what earlier runs kept and opens the sockets. Rejects when what was kept does not fit the configuration. */
  start(signal: AbortSignal): Promise<void>;
  /** Whether the pod wants something of them; others are admitted without. */
  concerns(pod: Pod): boolean;
  /** Gives the pod what it asks for, one pod after the other. */
  admit(pod: Pod): Promise<AdmissionResult>;
  /** The node with at least what its pods have already, should its plugins be away. */
  withHeld(node: Node | undefined, pod: Pod): Node | undefined;
  capacity(): DeviceCapacity;
  containerDevices(pod: Pod, container: Container): Promise<ContainerDevices | undefined>;
  /** Whether a container of the pod has processors alone, and so no quota is set. */
  withoutCpuQuota(pod: Pod): boolean;
  /** Has drivers make the devices of the pod's claims ready; rejects with why they cannot. */
  prepareDynamicResources(pod: Pod): Promise<void>;
  unprepareDynamicResources(podUid: string): Promise<void>;
  /** How the devices of a container are. */
  readonly resourceHealth: ResourceHealthOf;
}

/** What they are made from. */
export interface ResourceManagersDeps {
  readonly deps: KubeletDeps;
  readonly config: KubeletConfiguration;
  readonly late: LateBindings;
  readonly podCache: PodCache;
  readonly podManager: PodManager;
  readonly sourcesReady: SourcesReady;
  readonly plugins: Pick<PluginManager, 'addHandler'>;
  readonly connect: GrpcConnector;
  /** Pods whose admission is not settled: nobody may sync them. */
  readonly admitting: ReadonlySet<string>;
}

interface Managers {
  readonly machine: { current: HostTopology };
  readonly inventory: DeviceInventory;
  readonly devices: DeviceManager;
  readonly registration: DeviceRegistration;
  readonly cpu: CpuManager | undefined;
  readonly memory: MemoryManager | undefined;
  readonly topology: TopologyManager;
  readonly dra: DraManager;
  readonly claims: ClaimInfos;
  readonly wiper: SliceWiper;
}

/** Makes them. */
export function createResourceManagers(parts: ResourceManagersDeps): ResourceManagers {
  const managers = createManagers(parts);
  const { inventory, devices, cpu, memory, topology, dra } = managers;
  const mutex = new KeyedMutex();
  const release = async (): Promise<void> => {
    // Until every source has been heard, pods not known yet may hold what an earlier run gave them.
    if (!parts.sourcesReady.allReady()) return;
    const uids = holders(parts);
    devices.keepOnly(uids);
    await cpu?.keepOnly(uids);
    await memory?.keepOnly(uids);
  };
  const reconciler = cpu === undefined ? undefined : reconcilerOf(parts, cpu, () => mutex.run('admit', release));
  const hasOwnCpus = (pod: Pod, { name }: Container): boolean =>
    !parts.config.cpuManager.quotaOnExclusiveCpus && cpu?.exclusiveCpus(podUid(pod), name) !== undefined;
  return {
    withoutCpuQuota: ({ metadata, spec }) =>
      [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].some((each) => hasOwnCpus({ metadata }, each)),
    start: (signal) => startManagers({ parts, managers, reconciler }, signal),
    concerns: (pod) => devices.concerns(pod) || cpu?.concerns(pod) === true || memory?.concerns(pod) === true,
    admit: (pod) =>
      mutex.run('admit', async (): Promise<AdmissionResult> => {
        await release();
        try {
          await topology.admit(pod);
          reconciler?.trigger();
          return { admit: true };
        } catch (error) {
          if (!(error instanceof AllocationError)) throw error;
          return { admit: false, reason: error.reason, message: error.message };
        }
      }),
    withHeld: (node, pod) => withHeldDevices(node, pod, devices.allocated),
    capacity: inventory.capacity,
    async containerDevices(pod, container) {
      const own = await devices.containerDevices(pod, container);
      const bound = {
        ...binding(managers, pod, container),
        ...(hasOwnCpus(pod, container) ? { withoutCpuQuota: true as const } : {}),
      };
      if (bound.cpusetCpus !== undefined) reconciler?.noteCreated(podUid(pod), container.name, bound.cpusetCpus);
      const claimed = dra.cdiDevices(pod, container);
      if (own === undefined && claimed.length === 0 && Object.keys(bound).length === 0) return undefined;
      const { cdiDevices } = own ?? NO_DEVICES;
      return { ...(own ?? NO_DEVICES), ...bound, cdiDevices: [...new Set([...cdiDevices, ...claimed])] };
    },
    prepareDynamicResources: dra.prepare,
    unprepareDynamicResources: dra.unprepare,
    resourceHealth: healthOfDevices(devices.podDevices, inventory),
  };
}

/** As upstream's. */
const CLAIM_UPKEEP_PERIOD_MS = 60_000;
const NO_DEVICES: ContainerDevices = { devices: [], mounts: [], environment: {}, annotations: {}, cdiDevices: [] };

function createManagers(parts: ResourceManagersDeps): Managers {
  const { platform, serveSocket } = parts.deps;
  const { files } = platform;
  const log = platform.log.child('device-manager');
  const inventory = createDeviceInventory(platform.clock);
  const directory = `${parts.config.rootDirectory}/device-plugins`;
  const machine: Managers['machine'] = { current: { cpus: [], nodes: [] } };
  const numaNodes = (): readonly number[] => machine.current.nodes.map(({ node }) => node);
  const devices = createDeviceManager(
    { files, log, inventory, numaNodes, isContainerRunning: (uid, name) => isRunning(parts.podCache, uid, name) },
    directory,
  );
  const registration = createDeviceRegistration(
    {
      files,
      clock: platform.clock,
      log,
      inventory,
      connect: parts.connect,
      serve: serveSocket ?? createSocketServer(platform.listenRpc),
      onChange: (resource) => devicesChanged(parts, devices, resource),
    },
    directory,
  );
  parts.plugins.addHandler('DevicePlugin', registration.pluginHandler);
  const cpu = cpuManagerOf(files, parts.config);
  const memory = memoryManagerOf(files, parts.config);
  const providers = [devices, cpu, memory].filter((provider) => provider !== undefined);
  const topology = createTopologyManager(
    { numaNodes: () => machine.current.nodes, providers },
    parts.config.topologyManager,
  );
  const claims = createClaimInfos(files, `${parts.config.rootDirectory}/dra_manager_state`);
  const { client } = parts.deps;
  const draLog = platform.log.child('dra-manager');
  const wiper = createSliceWiper({
    clock: platform.clock,
    random: platform.random.fork('dra-manager'),
    log: draLog,
    slices: client.resource(ResourceSlices),
    nodeName: parts.config.nodeName,
  });
  const dra = createDraManager({
    connect: parts.connect,
    log: draLog,
    infos: claims,
    wiper,
    getClaim: (namespace, name) => client.resource(ResourceClaims).get({ namespace, name }),
  });
  parts.plugins.addHandler('DRAPlugin', dra.pluginHandler);
  return { machine, inventory, devices, registration, cpu, memory, topology, dra, claims, wiper };
}

async function startManagers(
  of: { parts: ResourceManagersDeps; managers: Managers; reconciler: CpuReconciler | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { machine, devices, registration, cpu, memory, dra, claims, wiper } = of.managers;
  const { platform } = of.parts.deps;
  machine.current = await platform.host.topology();
  checkNumaNodes(machine.current.nodes.length, of.parts.config.topologyManager);
  if (cpu === undefined) await refuseForeignCpuState(platform.files, of.parts.config);
  await cpu?.start(machine.current.cpus);
  await memory?.start(machine.current.nodes);
  await devices.restore();
  await claims.load();
  wiper.wipeAll(signal);
  startClaimUpkeep(of.parts, dra, signal);
  await registration.start(signal);
  of.reconciler?.start(signal);
  await startPodResourcesServer(
    {
      ...of.managers,
      files: platform.files,
      log: platform.log.child('pod-resources'),
      serve: of.parts.deps.serveSocket ?? createSocketServer(platform.listenRpc),
      pods: () => podsThatHold(of.parts),
    },
    `${of.parts.config.rootDirectory}/pod-resources`,
    signal,
  );
}

/** Claims of pods that went while no kubelet ran, or whose driver was away when they ended. */
function startClaimUpkeep(parts: ResourceManagersDeps, dra: DraManager, signal: AbortSignal): void {
  const { clock, log } = parts.deps.platform;
  const cancel = clock.setTicker(CLAIM_UPKEEP_PERIOD_MS, () => {
    if (!parts.sourcesReady.allReady()) return;
    const holding = parts.late.podWorkers.get().podsWithRuntime(parts.podManager.getPods()).map(podUid);
    dra
      .keepOnly(new Set([...holding, ...parts.admitting]))
      .catch((error: unknown) => log.warn('Unpreparing resource claims failed, will retry', { err: error }));
  });
  onAbort(signal, cancel);
}

function reconcilerOf(
  parts: ResourceManagersDeps,
  cpuManager: CpuManager,
  release: () => Promise<void>,
): CpuReconciler {
  const { clock, log } = parts.deps.platform;
  return createCpuReconciler(
    {
      clock,
      log: log.child('cpu-manager'),
      cpuManager,
      release,
      pods: () => podsThatHold(parts),
      podStatus: parts.podCache.peek,
      updateCpus: (containerId, cpus) => parts.late.runtime.get().updateCpuset(containerId, cpus),
    },
    parts.config.cpuManager.reconcilePeriodMs,
  );
}

/** Where the container is bound to run. */
function binding(
  { cpu, memory }: Managers,
  pod: Pod,
  { name }: Container,
): Pick<ContainerDevices, 'cpusetCpus' | 'cpusetMems'> {
  const cpus = cpu?.cpusOf(podUid(pod), name) ?? [];
  const nodes = memory?.nodesOf(podUid(pod), name);
  return {
    ...(cpus.length === 0 ? {} : { cpusetCpus: formatCpuSet(cpus) }),
    ...(nodes === undefined ? {} : { cpusetMems: formatCpuSet(nodes) }),
  };
}

/** Pods that keep what they were given: those whose containers run or may run, and those being admitted. */
function holders(parts: ResourceManagersDeps): Set<string> {
  return new Set([...podsThatHold(parts).map(podUid), ...parts.admitting]);
}

/** A pod that was deleted at once holds nothing while its containers still end: what comes in its place was scheduled by that. */
function podsThatHold({ podManager, late }: ResourceManagersDeps): readonly Pod[] {
  const wanted = podManager.getPods();
  const uids = new Set(wanted.map(podUid));
  return late.podWorkers
    .get()
    .podsWithRuntime(wanted)
    .filter((pod) => uids.has(podUid(pod)));
}

function isRunning(podCache: PodCache, uid: string, name: string): boolean {
  const containers = podCache.peek(uid)?.containers ?? [];
  return containers.some((container) => container.name === name && container.state === 'running');
}

/** The node's status tells it, and so do the pods that have such devices. */
function devicesChanged(parts: ResourceManagersDeps, devices: DeviceManager, resource: string): void {
  parts.late.nodeStatus.get().trigger();
  const concerned = new Set(
    devices.podDevices.entries().flatMap((entry) => (entry.resource === resource ? entry.podUid : [])),
  );
  for (const pod of parts.podManager.getPods())
    if (concerned.has(podUid(pod)) && !parts.admitting.has(podUid(pod)))
      parts.late.podWorkers.get().updatePod({ pod, updateType: 'sync' });
  devices.save().catch((error: unknown) => {
    parts.deps.platform.log.error('Writing checkpoint of devices failed', { err: error });
  });
}
