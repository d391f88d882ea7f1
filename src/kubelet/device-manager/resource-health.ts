/** The health of a container's devices, for its status. Upstream: UpdateAllocatedResourcesStatus in devicemanager/manager.go. */
import type { ResourceStatus } from '../../api/gen/core-v1.ts';
import type { DeviceInventory } from './device-inventory.ts';
import type { PodDevices } from './pod-devices.ts';

/** By pod uid and container name; undefined: it has no devices. */
export type ResourceHealthOf = (podUid: string, container: string) => ResourceStatus[] | undefined;

/** Healthy, Unhealthy, or Unknown where no plugin reports the device. */
export function healthOfDevices(
  podDevices: Pick<PodDevices, 'ofContainer'>,
  inventory: Pick<DeviceInventory, 'endpoint' | 'devices'>,
): ResourceHealthOf {
  return (podUid, container) => {
    const held = [...podDevices.ofContainer(podUid, container)];
    if (held.length === 0) return undefined;
    return held.map(([name, { ids }]) => ({
      name,
      resources: ids.map((resourceID) => {
        const device = inventory.endpoint(name) === undefined ? undefined : inventory.devices(name).get(resourceID);
        return { resourceID, health: device?.health ?? 'Unknown' };
      }),
    }));
  };
}
