/**
 * The settings that devices add to a container. Upstream: GetDeviceRunContainerOptions and deviceRunContainerOptions
 * (pod_devices.go).
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { ContainerDevices } from '../runtime/container-config.ts';
import { ANY_NODE, type TopologyHint } from '../topology-manager/hints.ts';
import { podUid } from '../types/pod-update.ts';
import type { ContainerAllocateResponse } from './device-plugin-api.ts';
import type { DeviceInventory } from './device-inventory.ts';
import type { PodDevices } from './pod-devices.ts';

export interface ContainerShareDeps {
  readonly inventory: Pick<DeviceInventory, 'endpoint'>;
  readonly podDevices: Pick<PodDevices, 'get' | 'ofContainer'>;
  readonly requestsOf: (pod: Pod, container: Container) => readonly [string, number][];
  readonly allocate: (pod: Pod, container: Container, hint: TopologyHint) => Promise<void>;
}

/** The function resolves to undefined for a container without devices and rejects when a plugin cannot prepare one. */
export function createContainerShare(
  deps: ContainerShareDeps,
): (pod: Pod, container: Container) => Promise<ContainerDevices | undefined> {
  const { inventory, podDevices } = deps;
  return async (pod, container) => {
    const uid = podUid(pod);
    const requests = deps.requestsOf(pod, container).filter(([, count]) => count > 0);
    if (requests.length === 0) return undefined;
    // The checkpoint was lost, and with it the record of the container's devices.
    if (requests.some(([resource]) => podDevices.get(uid, container.name, resource) === undefined))
      await deps.allocate(pod, container, ANY_NODE);
    for (const [resource] of requests) {
      const endpoint = inventory.endpoint(resource);
      const held = podDevices.get(uid, container.name, resource);
      if (endpoint?.options.preStartRequired !== true || held === undefined) continue;
      await endpoint.preStartContainer(held.ids);
    }
    return mergeResponses([...podDevices.ofContainer(uid, container.name).values()].map(({ response }) => response));
  };
}

/** Merges responses; the first value of an environment variable, path or annotation wins. */
function mergeResponses(responses: readonly ContainerAllocateResponse[]): ContainerDevices {
  const environment: Record<string, string> = {};
  const annotations: Record<string, string> = {};
  const devices = new Map<string, ContainerDevices['devices'][number]>();
  const mounts = new Map<string, ContainerDevices['mounts'][number]>();
  const cdiDevices = new Set<string>();
  for (const response of responses) {
    for (const [name, value] of Object.entries(response.envs)) environment[name] ??= value;
    for (const [name, value] of Object.entries(response.annotations)) annotations[name] ??= value;
    for (const device of response.devices)
      if (!devices.has(device.containerPath)) devices.set(device.containerPath, device);
    for (const mount of response.mounts) if (!mounts.has(mount.containerPath)) mounts.set(mount.containerPath, mount);
    for (const { name } of response.cdiDevices) cdiDevices.add(name);
  }
  return {
    devices: [...devices.values()],
    mounts: [...mounts.values()],
    environment,
    annotations,
    cdiDevices: [...cdiDevices],
  };
}
