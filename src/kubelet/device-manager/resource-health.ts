/** The health of a container's devices, for its status. Upstream: UpdateAllocatedResourcesStatus in devicemanager/manager.go. */
import type { ResourceStatus } from '../../api/gen/core-v1.ts';
import { MAX_REPORTED_DEVICES } from './device-limits.ts';
import type { DeviceInventory } from './device-inventory.ts';
import type { PodDevices } from './pod-devices.ts';

type ResourceHealth = 'Healthy' | 'Unhealthy' | 'Unknown';
type ResourceHealthEntry = { readonly resourceID: string; readonly health: ResourceHealth };

/** By pod uid and container name; undefined: it has no devices. */
export type ResourceHealthOf = (podUid: string, container: string) => ResourceStatus[] | undefined;

/**
 * Healthy, Unhealthy, or Unknown where no plugin reports the device. Differs: of a container with more than 1,000 devices of a
 * resource those that are not healthy come first, and no more are named.
 */
export function healthOfDevices(
  podDevices: Pick<PodDevices, 'ofContainer'>,
  inventory: Pick<DeviceInventory, 'endpoint' | 'devices' | 'healthy'>,
): ResourceHealthOf {
  const healthOf = (name: string, id: string): ResourceHealth => {
    if (inventory.endpoint(name) === undefined) return 'Unknown';
    if (inventory.healthy(name).has(id)) return 'Healthy';
    return inventory.devices(name).get(id)?.health === 'Unhealthy' ? 'Unhealthy' : 'Unknown';
  };
  return (podUid, container) => {
    const held = [...podDevices.ofContainer(podUid, container)];
    if (held.length === 0) return undefined;
    return held.map(([name, { ids }]) => {
      const resources = ids.map((resourceID) => ({ resourceID, health: healthOf(name, resourceID) }));
      return { name, resources: resources.length > MAX_REPORTED_DEVICES ? mostImportant(resources) : resources };
    });
  };
}

function mostImportant(resources: readonly ResourceHealthEntry[]): ResourceHealthEntry[] {
  const isHealthy = ({ health }: ResourceHealthEntry): boolean => health === 'Healthy';
  const sick = resources.filter((each) => !isHealthy(each));
  return [...sick, ...resources.filter(isHealthy)].slice(0, MAX_REPORTED_DEVICES);
}
