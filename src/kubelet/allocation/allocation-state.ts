/**
 * What was allocated to pods and given to containers where that is not what they were made with, kept on disk. Upstream:
 * pkg/kubelet/allocation/state (allocated_pods_state, actuated_pods_state). Differs: what a container was made with stands
 * in its annotations, so only resized pods are written.
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
  /** By pod uid: resources of pods as a whole, of those that have such. */
  readonly allocatedPods: Record<string, ContainerResources>;
  readonly actuatedPods: Record<string, ContainerResources>;
  /** By pod uid: pods of which a resize was begun and its last step not yet done. */
  readonly unsettled: Record<string, true>;
}

export interface AllocationState {
  /** Reads what an earlier run kept; damage is logged and forgotten. */
  load(): Promise<void>;
  allocated(uid: string): Readonly<Record<string, ContainerResources>> | undefined;
  /** Resources of the pod as a whole. */
  allocatedPod(uid: string): ContainerResources | undefined;
  setAllocated(uid: string, resources: Record<string, ContainerResources>, pod?: ContainerResources): Promise<void>;
  actuatedPod(uid: string): ContainerResources | undefined;
  setActuatedPod(uid: string, resources: ContainerResources): Promise<void>;
  /** Whether nothing of a resize is left to be done. */
  settled(uid: string): boolean;
  setSettled(uid: string, settled: boolean): Promise<void>;
  actuated(containerId: string): ContainerResources | undefined;
  setActuated(uid: string, containerId: string, resources: ContainerResources): Promise<void>;
  forget(uid: string): Promise<void>;
}

/** Makes the memory over a file. */
export function createAllocationState(deps: { files: Files; log: Log }, path: string): AllocationState {
  const { files, log } = deps;
  const mutex = new KeyedMutex();
  /** `kept.actuated` by container: each of a pod's containers asks, of whatever pod. */
  const byContainer = new Map<string, ContainerResources>();
  let kept: AllocationFile = { allocated: {}, actuated: {}, allocatedPods: {}, actuatedPods: {}, unsettled: {} };
  const save = (): Promise<void> =>
    mutex.run('save', () => files.writeFileAtomic(path, JSON.stringify(kept), { mode: 0o600 }));
  return {
    async load() {
      if (!(await files.exists(path))) return;
      try {
        const read = JSON.parse(await files.readText(path)) as Partial<AllocationFile>;
        const { allocated = {}, actuated = {}, allocatedPods = {}, actuatedPods = {}, unsettled = {} } = read;
        kept = { allocated, actuated, allocatedPods, actuatedPods, unsettled };
        for (const containers of Object.values(actuated))
          for (const [containerId, resources] of Object.entries(containers)) byContainer.set(containerId, resources);
      } catch (error) {
        log.error('Failed to restore allocated resources from checkpoint', { path, err: error });
      }
    },
    allocated: (uid) => kept.allocated[uid],
    allocatedPod: (uid) => kept.allocatedPods[uid],
    async setAllocated(uid, resources, pod) {
      kept.allocated[uid] = resources;
      if (pod === undefined) delete kept.allocatedPods[uid];
      else kept.allocatedPods[uid] = pod;
      await save();
    },
    actuatedPod: (uid) => kept.actuatedPods[uid],
    async setActuatedPod(uid, resources) {
      kept.actuatedPods[uid] = resources;
      await save();
    },
    settled: (uid) => kept.unsettled[uid] === undefined,
    async setSettled(uid, settled) {
      if (settled === (kept.unsettled[uid] === undefined)) return;
      if (settled) delete kept.unsettled[uid];
      else kept.unsettled[uid] = true;
      await save();
    },
    actuated: (containerId) => byContainer.get(containerId),
    async setActuated(uid, containerId, resources) {
      (kept.actuated[uid] ??= {})[containerId] = resources;
      byContainer.set(containerId, resources);
      await save();
    },
    async forget(uid) {
      const all = Object.values(kept) as Record<string, unknown>[];
      if (all.every((one) => one[uid] === undefined)) return;
      for (const containerId of Object.keys(kept.actuated[uid] ?? {})) byContainer.delete(containerId);
      for (const one of all) delete one[uid];
      await save();
    },
  };
}
