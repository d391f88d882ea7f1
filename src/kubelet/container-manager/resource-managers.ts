/**
 * Creates the managers of allocated resources: devices, CPUs, memory, NUMA alignment and resource claims. Upstream:
 * NewContainerManager in pkg/kubelet/cm/container_manager_linux.go.
 */
import { ResourceClaims, ResourceSlices } from '../../api/gen/resources.ts';
import type { Client } from '../../client/client.ts';
import type { GrpcConnector } from '../../grpc/grpc-connector.ts';
import type { SocketServer } from '../../grpc/socket-server.ts';
import type { HostTopology } from '../../platform/host.ts';
import type { Platform } from '../../platform/platform.ts';
import type { PodCache } from '../container/pod-cache.ts';
import type { CpuManager } from '../cpu-manager/cpu-manager.ts';
import { createDeviceInventory, type DeviceInventory } from '../device-manager/device-inventory.ts';
import { createDeviceManager, type DeviceManager } from '../device-manager/device-manager.ts';
import { createDeviceRegistration, type DeviceRegistration } from '../device-manager/registration.ts';
import { createClaimInfos, type ClaimInfos } from '../dra-manager/claim-info.ts';
import { createDraManager, type DraManager } from '../dra-manager/dra-manager.ts';
import { createSliceWiper, type SliceWiper } from '../dra-manager/slice-wiper.ts';
import type { KubeletConfiguration } from '../kubelet-configuration.ts';
import type { MemoryManager } from '../memory-manager/memory-manager.ts';
import type { PluginManager } from '../plugin-manager/plugin-manager.ts';
import { createTopologyManager, type TopologyManager } from '../topology-manager/topology-manager.ts';
import { createStaticCpuManager, createStaticMemoryManager } from './static-policy-managers.ts';

export interface ResourceManagers {
  /** Read at the start; empty before. */
  readonly machine: { topology: HostTopology };
  readonly inventory: DeviceInventory;
  readonly devices: DeviceManager;
  readonly registration: DeviceRegistration;
  /** Undefined with the policy `none`. */
  readonly cpu: CpuManager | undefined;
  /** Undefined with the policy `None`. */
  readonly memory: MemoryManager | undefined;
  readonly topology: TopologyManager;
  readonly dra: DraManager;
  readonly claimInfos: ClaimInfos;
  readonly sliceWiper: SliceWiper;
}

export interface ResourceManagersDeps {
  readonly platform: Platform;
  readonly client: Client;
  readonly podCache: Pick<PodCache, 'peek'>;
  readonly plugins: Pick<PluginManager, 'addHandler'>;
  readonly connectGrpc: GrpcConnector;
  readonly serveSocket: SocketServer;
  /** Called when devices of the resource were added or removed, or their health changed. */
  readonly onDevicesChanged: (resource: string) => void;
}

export function createResourceManagers(deps: ResourceManagersDeps, config: KubeletConfiguration): ResourceManagers {
  const { files } = deps.platform;
  const machine: ResourceManagers['machine'] = { topology: { cpus: [], nodes: [] } };
  const cpu = createStaticCpuManager(files, config);
  const memory = createStaticMemoryManager(files, config);
  const deviceParts = createDeviceParts(deps, config, machine);
  const providers = [deviceParts.devices, cpu, memory].filter((provider) => provider !== undefined);
  const topology = createTopologyManager(
    { numaNodes: () => machine.topology.nodes, providers },
    config.topologyManager,
  );
  return { machine, cpu, memory, topology, ...deviceParts, ...createClaimParts(deps, config) };
}

function createDeviceParts(
  deps: ResourceManagersDeps,
  config: KubeletConfiguration,
  machine: ResourceManagers['machine'],
): Pick<ResourceManagers, 'inventory' | 'devices' | 'registration'> {
  const { files, clock } = deps.platform;
  const log = deps.platform.log.child('device-manager');
  const inventory = createDeviceInventory(clock);
  const directory = `${config.rootDirectory}/device-plugins`;
  const devices = createDeviceManager(
    {
      files,
      log,
      inventory,
      numaNodes: () => machine.topology.nodes.map(({ node }) => node),
      isContainerRunning: (uid, name) =>
        (deps.podCache.peek(uid)?.containers ?? []).some(
          (container) => container.name === name && container.state === 'running',
        ),
    },
    directory,
  );
  const registration = createDeviceRegistration(
    {
      files,
      clock,
      log,
      inventory,
      connect: deps.connectGrpc,
      serve: deps.serveSocket,
      onChange: deps.onDevicesChanged,
    },
    directory,
  );
  deps.plugins.addHandler('DevicePlugin', registration.pluginHandler);
  return { inventory, devices, registration };
}

function createClaimParts(
  deps: ResourceManagersDeps,
  config: KubeletConfiguration,
): Pick<ResourceManagers, 'claimInfos' | 'sliceWiper' | 'dra'> {
  const { clock, files, random } = deps.platform;
  const log = deps.platform.log.child('dra-manager');
  const claimInfos = createClaimInfos(files, `${config.rootDirectory}/dra_manager_state`);
  const sliceWiper = createSliceWiper({
    clock,
    random: random.fork('dra-manager'),
    log,
    slices: deps.client.resource(ResourceSlices),
    nodeName: config.nodeName,
  });
  const dra = createDraManager({
    connect: deps.connectGrpc,
    log,
    infos: claimInfos,
    wiper: sliceWiper,
    getClaim: (namespace, name) => deps.client.resource(ResourceClaims).get({ namespace, name }),
  });
  deps.plugins.addHandler('DRAPlugin', dra.pluginHandler);
  return { claimInfos, sliceWiper, dra };
}
