/** The devices of each container. Upstream: pkg/kubelet/cm/devicemanager/pod_devices.go. */
import { getOrMake } from '../../base/get-or-make.ts';
import type { ContainerAllocateResponse } from './device-plugin-api.ts';

/** Devices of one resource in one container. */
export interface AllocatedDevices {
  readonly ids: readonly string[];
  /** NUMA nodes of each device that has any. */
  readonly nodes: Readonly<Record<string, readonly number[]>>;
  readonly response: ContainerAllocateResponse;
}

/** One row of the table. */
export interface PodDevicesEntry extends AllocatedDevices {
  readonly podUid: string;
  readonly container: string;
  readonly resource: string;
}

export interface PodDevices {
  set(entry: PodDevicesEntry): void;
  get(podUid: string, container: string, resource: string): AllocatedDevices | undefined;
  /** By resource. */
  ofContainer(podUid: string, container: string): ReadonlyMap<string, AllocatedDevices>;
  /** Ids of a resource that are allocated. */
  inUse(resource: string): IdsInUse;
  podUids(): readonly string[];
  /** Uids of pods with devices of the resource. */
  podUidsWith(resource: string): ReadonlySet<string>;
  remove(podUid: string): void;
  entries(): readonly PodDevicesEntry[];
  /** Increases with every change. */
  readonly version: number;
}

/** A live view. */
export type IdsInUse = Pick<ReadonlySet<string>, 'has' | 'size'>;

/** The allocations of one resource. */
class ResourceUse {
  /** The number of containers of each device: containers of a pod share those of its init containers. */
  readonly ids = new Map<string, number>();
  /** By pod uid, the number of containers. */
  readonly pods = new Map<string, number>();
}

const NOTHING: IdsInUse = new Set<string>();

export function createPodDevices(): PodDevices {
  return new AllocatedPodDevices();
}

class AllocatedPodDevices implements PodDevices {
  readonly #pods = new Map<string, Map<string, Map<string, AllocatedDevices>>>();
  readonly #uses = new Map<string, ResourceUse>();
  version = 0;

  set({ podUid, container, resource, ids, nodes, response }: PodDevicesEntry): void {
    const resources = getOrMake(
      getOrMake(this.#pods, podUid, () => new Map<string, Map<string, AllocatedDevices>>()),
      container,
      () => new Map<string, AllocatedDevices>(),
    );
    const before = resources.get(resource);
    if (before !== undefined) this.#release(podUid, resource, before.ids);
    resources.set(resource, { ids, nodes, response });
    const use = getOrMake(this.#uses, resource, () => new ResourceUse());
    add(use.pods, podUid, 1);
    for (const id of ids) add(use.ids, id, 1);
    this.version++;
  }

  get(podUid: string, container: string, resource: string): AllocatedDevices | undefined {
    return this.#pods.get(podUid)?.get(container)?.get(resource);
  }

  ofContainer(podUid: string, container: string): ReadonlyMap<string, AllocatedDevices> {
    return this.#pods.get(podUid)?.get(container) ?? new Map();
  }

  inUse(resource: string): IdsInUse {
    return this.#uses.get(resource)?.ids ?? NOTHING;
  }

  podUids(): readonly string[] {
    return [...this.#pods.keys()];
  }

  podUidsWith(resource: string): ReadonlySet<string> {
    return new Set(this.#uses.get(resource)?.pods.keys());
  }

  remove(podUid: string): void {
    for (const resources of this.#pods.get(podUid)?.values() ?? [])
      for (const [resource, { ids }] of resources) this.#release(podUid, resource, ids);
    if (this.#pods.delete(podUid)) this.version++;
  }

  entries(): readonly PodDevicesEntry[] {
    return [...this.#pods].flatMap(([podUid, containers]) =>
      [...containers].flatMap(([container, resources]) =>
        [...resources].map(([resource, devices]) => ({ podUid, container, resource, ...devices })),
      ),
    );
  }

  #release(podUid: string, resource: string, ids: readonly string[]): void {
    const use = this.#uses.get(resource)!;
    add(use.pods, podUid, -1);
    for (const id of ids) add(use.ids, id, -1);
    if (use.pods.size === 0) this.#uses.delete(resource);
  }
}

function add(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
