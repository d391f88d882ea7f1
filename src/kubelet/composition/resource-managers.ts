/**
 * The managers of what is given to containers piece by piece, put together: devices of plugins, and how they lie together.
 * Upstream: NewContainerManager in pkg/kubelet/cm/container_manager_linux.go.
 */
import type { Container, Node, Pod } from '../../api/gen/core-v1.ts';
import { createSocketServer } from '../../grpc/socket-server.ts';
import type { SocketConnector } from '../../grpc/socket-connector.ts';
import type { HostTopology } from '../../platform/host.ts';
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { AdmissionResult } from '../admission.ts';
import { createDeviceInventory, type DeviceCapacity } from '../device-manager/device-inventory.ts';
import { createDeviceManager, type DeviceManager } from '../device-manager/device-manager.ts';
import { createDeviceRegistration } from '../device-manager/registration.ts';
import { withHeldDevices } from '../device-manager/held-devices.ts';
import { healthOfDevices, type ResourceHealthOf } from '../device-manager/resource-health.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { KubeletDeps } from '../kubelet-contract.ts';
import type { PluginManager } from '../plugin-manager/plugin-manager.ts';
import type { PodManager } from '../pod/pod-manager.ts';
import type { PodCache } from '../pod-cache.ts';
import type { ContainerDevices } from '../runtime/container-config.ts';
import { AllocationError } from '../topology-manager/hints.ts';
import { createTopologyManager } from '../topology-manager/topology-manager.ts';
import { podUid } from '../types/pod-update.ts';
import type { LateBindings } from './late-bindings.ts';

/** The managers as the kubelet uses them. */
export interface ResourceManagers {
  /** Reads what earlier runs kept and opens the sockets. */
  start(signal: AbortSignal): Promise<void>;
  /** Whether the pod wants something of them; others are admitted without. */
  concerns(pod: Pod): boolean;
  /** Gives the pod what it asks for, one pod after the other. */
  admit(pod: Pod, activePods: readonly Pod[]): Promise<AdmissionResult>;
  /** The node with at least what its pods have already, should its plugins be away. */
  withHeld(node: Node | undefined, pod: Pod): Node | undefined;
  capacity(): DeviceCapacity;
  containerDevices(pod: Pod, container: Container): Promise<ContainerDevices | undefined>;
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
  readonly plugins: Pick<PluginManager, 'addHandler'>;
  readonly connect: SocketConnector;
  /** Pods whose admission is not settled: nobody may sync them. */
  readonly admitting: ReadonlySet<string>;
}

/** Makes them. */
export function createResourceManagers(parts: ResourceManagersDeps): ResourceManagers {
  const { platform } = parts.deps;
  const inventory = createDeviceInventory(platform.clock);
  const directory = `${parts.config.rootDirectory}/device-plugins`;
  let machine: HostTopology = { cpus: [], nodes: [] };
  const numaNodes = (): readonly number[] => machine.nodes.map(({ node }) => node);
  const devices = createDeviceManager(
    {
      files: platform.files,
      log: platform.log.child('device-manager'),
      inventory,
      numaNodes,
      isContainerRunning: (uid, name) => isRunning(parts.podCache, uid, name),
    },
    directory,
  );
  const registration = createDeviceRegistration(
    {
      files: platform.files,
      log: platform.log.child('device-manager'),
      connect: parts.connect,
      serve: parts.deps.serveSocket ?? createSocketServer(platform.listenRpc),
      inventory,
      onChange: (resource) => devicesChanged(parts, devices, resource),
    },
    directory,
  );
  parts.plugins.addHandler('DevicePlugin', registration.pluginHandler);
  const topology = createTopologyManager({ numaNodes, providers: [devices] }, parts.config.topologyManager);
  const mutex = new KeyedMutex();
  return {
    async start(signal) {
      machine = await platform.host.topology();
      await devices.restore();
      await registration.start(signal);
    },
    concerns: (pod) => devices.concerns(pod),
    admit: (pod, active) =>
      mutex.run('admit', async (): Promise<AdmissionResult> => {
        devices.keepOnly(new Set([...active, pod].map(podUid)));
        try {
          await topology.admit(pod);
          return { admit: true };
        } catch (error) {
          if (!(error instanceof AllocationError)) throw error;
          return { admit: false, reason: error.reason, message: error.message };
        }
      }),
    withHeld: (node, pod) => withHeldDevices(node, pod, devices.allocated),
    capacity: inventory.capacity,
    containerDevices: devices.containerDevices,
    resourceHealth: healthOfDevices(devices.podDevices, inventory),
  };
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
