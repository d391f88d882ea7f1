/**
 * The allocated and actuated resources of pods where they differ from the spec, kept on disk. Upstream:
 * pkg/kubelet/allocation/state (allocated_pods_state, actuated_pods_state). Differs: a container's annotations hold the
 * resources it was created with, so only resized pods are written.
 */
import { KeyedMutex } from '../../base/keyed-mutex.ts';
import type { Files } from '../../platform/files.ts';
import type { Log } from '../../platform/log.ts';
import type { ContainerResources } from './resources.ts';

interface AllocationFile {
  /** By pod uid, then container name. */
  readonly allocated: Record<string, Record<string, ContainerResources>>;
  /** By pod uid, then container id. */
  readonly actuated: Record<string, Record<string, ContainerResources>>;
  /** Pod-level resources by pod uid. */
  readonly allocatedPods: Record<string, ContainerResources>;
  readonly actuatedPods: Record<string, ContainerResources>;
  /** Pods whose resize has begun and is not complete, by uid. */
  readonly unsettled: Record<string, true>;
}

export interface AllocationState {
  /** Reads the state of an earlier run; a damaged file is logged and dropped. */
  load(): Promise<void>;
  allocated(uid: string): Readonly<Record<string, ContainerResources>> | undefined;
  /** Pod-level resources. */
  allocatedPod(uid: string): ContainerResources | undefined;
  setAllocated(uid: string, resources: Record<string, ContainerResources>, pod?: ContainerResources): Promise<void>;
  actuatedPod(uid: string): ContainerResources | undefined;
  setActuatedPod(uid: string, resources: ContainerResources): Promise<void>;
  /** Whether no step of a resize is left. */
  settled(uid: string): boolean;
  setSettled(uid: string, settled: boolean): Promise<void>;
  actuated(containerId: string): ContainerResources | undefined;
  setActuated(uid: string, containerId: string, resources: ContainerResources): Promise<void>;
  forget(uid: string): Promise<void>;
}

/** The state kept in a file. */
export function createAllocationState(deps: { files: Files; log: Log }, path: string): AllocationState {
  const { files, log } = deps;
  const mutex = new KeyedMutex();
  /** The container ids of `kept.actuated`, since readers do not know the pod's uid. */
  const byContainer = new Map<string, ContainerResources>();
  let allocationFile: AllocationFile = {
    allocated: {},
    actuated: {},
    allocatedPods: {},
    actuatedPods: {},
    unsettled: {},
  };
  const save = (): Promise<void> =>
    mutex.run('save', () => files.writeFileAtomic(path, JSON.stringify(allocationFile), { mode: 0o600 }));
  return {
    async load() {
      if (!(await files.exists(path))) return;
      try {
        const read = JSON.parse(await files.readText(path)) as Partial<AllocationFile>;
        const { allocated = {}, actuated = {}, allocatedPods = {}, actuatedPods = {}, unsettled = {} } = read;
        allocationFile = { allocated, actuated, allocatedPods, actuatedPods, unsettled };
        for (const containers of Object.values(actuated))
          for (const [containerId, resources] of Object.entries(containers)) byContainer.set(containerId, resources);
      } catch (error) {
        log.error('Failed to restore allocated resources from checkpoint', { path, err: error });
      }
    },
    allocated: (uid) => allocationFile.allocated[uid],
    allocatedPod: (uid) => allocationFile.allocatedPods[uid],
    async setAllocated(uid, resources, pod) {
      allocationFile.allocated[uid] = resources;
      if (pod === undefined) delete allocationFile.allocatedPods[uid];
      else allocationFile.allocatedPods[uid] = pod;
      await save();
    },
    actuatedPod: (uid) => allocationFile.actuatedPods[uid],
    async setActuatedPod(uid, resources) {
      allocationFile.actuatedPods[uid] = resources;
      await save();
    },
    settled: (uid) => allocationFile.unsettled[uid] === undefined,
    async setSettled(uid, settled) {
      if (settled === (allocationFile.unsettled[uid] === undefined)) return;
      if (settled) delete allocationFile.unsettled[uid];
      else allocationFile.unsettled[uid] = true;
      await save();
    },
    actuated: (containerId) => byContainer.get(containerId),
    async setActuated(uid, containerId, resources) {
      (allocationFile.actuated[uid] ??= {})[containerId] = resources;
      byContainer.set(containerId, resources);
      await save();
    },
    async forget(uid) {
      const all = Object.values(allocationFile) as Record<string, unknown>[];
      if (all.every((one) => one[uid] === undefined)) return;
      for (const containerId of Object.keys(allocationFile.actuated[uid] ?? {})) byContainer.delete(containerId);
      for (const one of all) delete one[uid];
      await save();
    },
  };
}
