/** The devices of each container. Upstream: pkg/kubelet/cm/devicemanager/pod_devices.go. */
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
  inUse(resource: string): ReadonlySet<string>;
  podUids(): readonly string[];
  remove(podUid: string): void;
  entries(): readonly PodDevicesEntry[];
}

export function createPodDevices(): PodDevices {
  const pods = new Map<string, Map<string, Map<string, AllocatedDevices>>>();
  const entries = (): PodDevicesEntry[] =>
    [...pods].flatMap(([podUid, containers]) =>
      [...containers].flatMap(([container, resources]) =>
        [...resources].map(([resource, devices]) => ({ podUid, container, resource, ...devices })),
      ),
    );
  return {
    set({ podUid, container, resource, ids, nodes, response }) {
      const containers = pods.get(podUid) ?? new Map<string, Map<string, AllocatedDevices>>();
      pods.set(podUid, containers);
      const resources = containers.get(container) ?? new Map<string, AllocatedDevices>();
      containers.set(container, resources);
      resources.set(resource, { ids, nodes, response });
    },
    get: (podUid, container, resource) => pods.get(podUid)?.get(container)?.get(resource),
    ofContainer: (podUid, container) => pods.get(podUid)?.get(container) ?? new Map(),
    inUse: (resource) => new Set(entries().flatMap((entry) => (entry.resource === resource ? entry.ids : []))),
    podUids: () => [...pods.keys()],
    remove: (podUid) => pods.delete(podUid),
    entries,
  };
}
