/**
 * Parts of the kubelet that parts made before them call: the circles in its composition, all of them. Each is bound once
 * while the kubelet is put together and called only afterwards.
 */
import type { ContainerRuntime } from '../container/runtime.ts';
import type { EvictionManager } from '../eviction/eviction-manager.ts';
import type { SyncLoop } from '../kubelet-sync-loop.ts';
import type { NodeStatusManager } from '../node-status/node-status-manager.ts';
import type { NodeShutdownManager } from '../node-shutdown/node-shutdown-manager.ts';
import type { RuntimeMonitor } from '../node-status/runtime-monitor.ts';
import type { PodLifecycleEventGenerator } from '../pleg/generic-pleg.ts';
import type { PodStateProvider, PodWorkers } from '../pod-workers/pod-syncer.ts';

/** A part that is made later. */
export interface Late<T> {
  /** Makes the part known; returns it. */
  bind(part: T): T;
  /** The part. @throws Error before it is bound */
  get(): T;
}

/** What is bound late. */
export interface LateBindings {
  /** Asked by the core: volumes, runtime and the status manager want to know what runs. */
  readonly podWorkers: Late<PodWorkers>;
  /** Told by the sources, the work queue, the probes and the PLEG. */
  readonly syncLoop: Late<SyncLoop>;
  /** Asked to move containers to other processors. */
  readonly runtime: Late<ContainerRuntime>;
  /** Held by a pod's sync. */
  readonly pleg: Late<PodLifecycleEventGenerator>;
  /** Asked for the pressures the node tells. */
  readonly eviction: Late<EvictionManager | undefined>;
  /** Asked whether the node still takes pods. */
  readonly shutdown: Late<NodeShutdownManager | undefined>;
  /** Told when volumes in use change. */
  readonly nodeStatus: Late<NodeStatusManager>;
  /** Asked to look again when the node has got its pod CIDR. */
  readonly runtimeMonitor: Late<RuntimeMonitor>;
}

/** Makes bindings with nothing bound. */
export function createLateBindings(): LateBindings {
  return {
    podWorkers: createLate('the pod workers'),
    syncLoop: createLate('the sync loop'),
    runtime: createLate('the runtime'),
    pleg: createLate('the PLEG'),
    eviction: createLate('the eviction manager'),
    shutdown: createLate('the shutdown manager'),
    nodeStatus: createLate('the node status'),
    runtimeMonitor: createLate('the runtime monitor'),
  };
}

function createLate<T>(name: string): Late<T> {
  let bound: { readonly part: T } | undefined;
  return {
    bind(part) {
      bound = { part };
      return part;
    },
    get() {
      if (bound === undefined) throw new Error(`${name} cannot be used while the kubelet is put together`);
      return bound.part;
    },
  };
}

/** The pod workers' answers, asked when needed. */
export function latePodState(workers: Late<PodWorkers>): PodStateProvider {
  return {
    isPodKnownTerminated: (uid) => workers.get().isPodKnownTerminated(uid),
    couldHaveRunningContainers: (uid) => workers.get().couldHaveRunningContainers(uid),
    shouldPodBeFinished: (uid) => workers.get().shouldPodBeFinished(uid),
    isPodTerminationRequested: (uid) => workers.get().isPodTerminationRequested(uid),
    shouldPodContainersBeTerminating: (uid) => workers.get().shouldPodContainersBeTerminating(uid),
    shouldPodRuntimeBeRemoved: (uid) => workers.get().shouldPodRuntimeBeRemoved(uid),
    shouldPodContentBeRemoved: (uid) => workers.get().shouldPodContentBeRemoved(uid),
    isPodForMirrorPodTerminatingByFullName: (fullName) =>
      workers.get().isPodForMirrorPodTerminatingByFullName(fullName),
  };
}
