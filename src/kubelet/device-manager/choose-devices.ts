/** Chooses devices for a container. Upstream: devicesToAllocate in pkg/kubelet/cm/devicemanager/manager.go. */
import type { DeviceInventory } from './device-inventory.ts';
import { sortByAffinity } from './device-hints.ts';
import type { IdsInUse } from './pod-devices.ts';

export interface DeviceChoice {
  readonly resource: string;
  readonly count: number;
  /** Devices of the pod's earlier init containers, which are reused first. */
  readonly reusable: ReadonlySet<string>;
  readonly inUse: IdsInUse;
  /** Preferred NUMA nodes; undefined: any. */
  readonly affinity: number | undefined;
}

/** Ids in the plugin's order of preference, if it has one. Throws when there are too few. */
export async function chooseDevices(choice: DeviceChoice, inventory: DeviceInventory): Promise<readonly string[]> {
  const { resource, count, affinity } = choice;
  const chosen = new Set<string>();
  const take = (ids: Iterable<string>): boolean => {
    for (const id of ids) {
      if (chosen.size === count) break;
      chosen.add(id);
    }
    return chosen.size === count;
  };
  if (take([...choice.reusable].sort())) return [...chosen];
  const available = new Set([...inventory.healthy(resource)].filter((id) => !choice.inUse.has(id) && !chosen.has(id)));
  const needed = count - chosen.size;
  if (available.size < needed)
    throw new Error(
      `requested number of devices unavailable for ${resource}. Requested: ${needed}, Available: ${available.size}`,
    );
  const { aligned, unaligned, withoutAffinity } = sortByAffinity(inventory.devices(resource), available, affinity);
  const prefer = async (from: readonly string[]): Promise<string[]> => {
    const endpoint = inventory.endpoint(resource);
    if (endpoint?.options.getPreferredAllocationAvailable !== true) return [];
    const preferred = await endpoint.preferredAllocation({
      available: [...from, ...chosen],
      mustInclude: [...chosen],
      size: count,
    });
    const offered = new Set(from);
    return preferred.filter((id) => offered.has(id));
  };
  if (needed < aligned.length) {
    if (take(await prefer(aligned)) || take(aligned)) return [...chosen];
  }
  if (take(aligned)) return [...chosen];
  const rest = [...unaligned, ...withoutAffinity];
  if (!take(await prefer(rest))) take(rest);
  return [...chosen];
}
