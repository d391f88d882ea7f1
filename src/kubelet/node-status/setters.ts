/**
 * Node status, one small pure setter per part. Upstream: pkg/kubelet/nodestatus/setters.go. Each takes the status so far
 * and returns it with its part set; conditions keep their transition time while their status stays.
 */
import type { NodeAddress, NodeStatus } from '../../api/gen/core-v1.ts';
import { compareQuantities, quantityFromValue, quantityValue, subtractQuantities } from '../../api/quantity.ts';
import { KUBERNETES_VERSION } from '../../base/version.ts';
import {
  type NodeStatusSetter,
  setDiskPressure,
  setMemoryPressure,
  setPidPressure,
  setReady,
} from './condition-setters.ts';
import type { NodeFacts } from './node-facts.ts';

const MAX_NAMES_PER_IMAGE = 5;

/**
 * Addresses: each InternalIP, then Hostname. With an external cloud provider its addresses are kept; before it has
 * set any, only configured addresses are reported.
 */
const setAddresses: NodeStatusSetter = (status, { nodeIps, config }) => {
  if (config.externalCloud && ((status.addresses ?? []).length > 0 || config.nodeIps.length === 0)) return status;
  const addresses: NodeAddress[] = nodeIps.map((address) => ({ address, type: 'InternalIP' }));
  return { ...status, addresses: [...addresses, { address: config.nodeName, type: 'Hostname' }] };
};

function hugePageName(pageSizeBytes: number): string {
  return `hugepages-${quantityFromValue(pageSizeBytes, 'BinarySI')}`;
}

function capacityOf({ host, rootFs, config }: NodeFacts): Record<string, string> {
  const capacity: Record<string, string> = { cpu: String(host.cpuCount) };
  if (rootFs !== undefined) capacity['ephemeral-storage'] = quantityFromValue(rootFs.totalBytes, 'BinarySI');
  for (const { pageSizeBytes, count } of host.hugePages) {
    capacity[hugePageName(pageSizeBytes)] = quantityFromValue(pageSizeBytes * count, 'BinarySI');
  }
  capacity['memory'] = quantityFromValue(host.memoryBytes, 'BinarySI');
  const perNode =
    config.podsPerCore > 0 ? Math.min(config.podsPerCore * host.cpuCount, config.maxPods) : config.maxPods;
  capacity['pods'] = String(perNode);
  return capacity;
}

/** An eviction threshold in the resource's unit: a quantity, or a share of the capacity. */
function thresholdOf(threshold: string | undefined, capacity: string): string {
  if (threshold === undefined) return '0';
  if (!threshold.endsWith('%')) return threshold;
  return quantityFromValue(Math.floor((quantityValue(capacity) * Number(threshold.slice(0, -1))) / 100), 'BinarySI');
}

/** The resources for pods: capacity less reservations and hard eviction thresholds, never below zero. */
function allocatableOf(capacity: Readonly<Record<string, string>>, { config }: NodeFacts): Record<string, string> {
  const thresholds: Readonly<Record<string, string | undefined>> = {
    memory: config.evictionHard['memory.available'],
    'ephemeral-storage': config.evictionHard['nodefs.available'],
  };
  const allocatable: Record<string, string> = {};
  for (const [name, total] of Object.entries(capacity)) {
    let left = total;
    for (const reserved of [
      config.systemReserved[name],
      config.kubeReserved[name],
      thresholdOf(thresholds[name], total),
    ]) {
      if (reserved !== undefined && reserved !== '0') left = subtractQuantities(left, reserved);
    }
    allocatable[name] = compareQuantities(left, '0') < 0 ? '0' : left;
  }
  // Huge pages are part of the node's memory.
  for (const [name, value] of Object.entries(capacity)) {
    if (name.startsWith('hugepages-') && value !== '0')
      allocatable['memory'] = subtractQuantities(allocatable['memory']!, value);
  }
  return allocatable;
}

interface Machine {
  readonly host: NodeFacts['host'];
  readonly totalBytes: number | undefined;
  readonly capacity: Readonly<Record<string, string>>;
  readonly allocatable: Readonly<Record<string, string>>;
}

/** The last computed resources of a machine, which change only with the machine. */
const machines = new WeakMap<NodeFacts['config'], Machine>();

function machineOf(facts: NodeFacts): Machine {
  const { host, rootFs, config } = facts;
  const last = machines.get(config);
  if (last !== undefined && last.host === host && last.totalBytes === rootFs?.totalBytes) return last;
  const capacity = capacityOf(facts);
  const machine = { host, totalBytes: rootFs?.totalBytes, capacity, allocatable: allocatableOf(capacity, facts) };
  machines.set(config, machine);
  return machine;
}

/**
 * Capacity and allocatable, including device plugins' resources. Extended resources that others added to the capacity
 * become allocatable too.
 */
const setMachineInfo: NodeStatusSetter = (status, facts) => {
  const { capacity, allocatable } = machineOf(facts);
  const extended = Object.fromEntries(Object.entries(status.capacity ?? {}).filter(([name]) => name.includes('/')));
  return {
    ...status,
    capacity: { ...extended, ...facts.devices.capacity, ...capacity },
    allocatable: { ...extended, ...facts.devices.allocatable, ...allocatable },
  };
};

const setVersionInfo: NodeStatusSetter = (status, { host, runtime }) => ({
  ...status,
  nodeInfo: {
    architecture: host.architecture,
    bootID: host.bootId,
    containerRuntimeVersion:
      runtime === undefined
        ? (status.nodeInfo?.containerRuntimeVersion ?? '')
        : `${runtime.runtimeName}://${runtime.runtimeVersion}`,
    kernelVersion: host.kernelVersion,
    kubeProxyVersion: '',
    kubeletVersion: KUBERNETES_VERSION,
    machineID: host.machineId,
    operatingSystem: host.operatingSystem,
    osImage: host.osImage,
    ...(host.swapBytes > 0 ? { swap: { capacity: host.swapBytes } } : {}),
    systemUUID: host.systemUuid,
  },
});

/** The port of the kubelet's server. */
const setDaemonEndpoints: NodeStatusSetter = (status, { config }) => ({
  ...status,
  daemonEndpoints: { kubeletEndpoint: { Port: config.port } },
});

/** The largest images, with at most five names each. */
const setImages: NodeStatusSetter = (status, { images, config }) => {
  const limit = config.nodeStatusMaxImages < 0 ? images.length : config.nodeStatusMaxImages;
  const largest = [...images].sort((a, b) => b.sizeBytes - a.sizeBytes).slice(0, limit);
  const { images: _before, ...rest } = status;
  // The API server drops an empty list, so setting one would be a change at every update.
  if (largest.length === 0) return rest;
  return {
    ...rest,
    images: largest.map(({ repoDigests, repoTags, sizeBytes }) => ({
      names: [...repoDigests, ...repoTags].slice(0, MAX_NAMES_PER_IMAGE),
      sizeBytes,
    })),
  };
};

/** The runtime's handlers with their features. */
const setRuntimeHandlers: NodeStatusSetter = (status, { runtime }) => {
  if (runtime === undefined) return status;
  const runtimeHandlers = runtime.runtimeHandlers.map(({ name, features }) => ({
    name,
    features: {
      ...(features['recursiveReadOnlyMounts'] === undefined
        ? {}
        : { recursiveReadOnlyMounts: features['recursiveReadOnlyMounts'] }),
      ...(features['userNamespaces'] === undefined ? {} : { userNamespaces: features['userNamespaces'] }),
    },
  }));
  return runtimeHandlers.length === 0 ? status : { ...status, runtimeHandlers };
};

/** Features that other kubelets may lack. */
const setDeclaredFeatures: NodeStatusSetter = (status, { config }) => {
  const { declaredFeatures: _before, ...rest } = status;
  const declaredFeatures = config.declaredFeatures ?? [];
  return declaredFeatures.length === 0 ? rest : { ...rest, declaredFeatures: [...declaredFeatures] };
};

/** Unique names of mounted volumes, for the attach-detach controller. */
const setVolumesInUse: NodeStatusSetter = (status, { volumesInUse }) => {
  if (volumesInUse === undefined) return status;
  const { volumesInUse: _before, ...rest } = status;
  return volumesInUse.length === 0 ? rest : { ...rest, volumesInUse: [...volumesInUse].sort() };
};

/** All setters, in upstream's order. */
const NODE_STATUS_SETTERS: readonly NodeStatusSetter[] = [
  setAddresses,
  setMachineInfo,
  setVersionInfo,
  setDaemonEndpoints,
  setImages,
  setRuntimeHandlers,
  setDeclaredFeatures,
  setMemoryPressure,
  setDiskPressure,
  setPidPressure,
  setReady,
  setVolumesInUse,
];

/** The status with every part set. */
export function applyNodeStatusSetters(status: NodeStatus, facts: NodeFacts): NodeStatus {
  return NODE_STATUS_SETTERS.reduce((so, setter) => setter(so, facts), status);
}
