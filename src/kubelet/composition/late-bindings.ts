/**
 * All circular dependencies of the kubelet's parts: parts that are called by parts created before them. Each is bound once
 * during composition and called only afterwards.
 */
import type { ContainerRuntime } from '../container/runtime.ts';
import type { EvictionManager } from '../eviction/eviction-manager.ts';
import type { SyncLoop } from '../sync-loop/sync-loop.ts';
import type { NodeStatusManager } from '../node-status/node-status-manager.ts';
import type { NodeShutdownManager } from '../node-shutdown/node-shutdown-manager.ts';
import type { RuntimeMonitor } from '../node-status/runtime-monitor.ts';
import type { PodLifecycleEventGenerator } from '../pleg/generic-pleg.ts';
import type { PodStateProvider, PodWorkers } from '../pod-workers/pod-syncer.ts';

/** A part that is created later. */
export interface Late<T> {
  /** Sets the part and returns it. */
  bind(part: T): T;
  /** The part. @throws Error before it is bound */
  get(): T;
}

/** The parts that are bound late. */
export interface LateBindings {
  /** Volumes, runtime and status manager ask it which pods run. */
  readonly podWorkers: Late<PodWorkers>;
  /** Pod sources, work queue, probes and PLEG send it messages. */
  readonly syncLoop: Late<SyncLoop>;
  /** The CPU manager moves containers to other processors with it. */
  readonly runtime: Late<ContainerRuntime>;
  /** A pod's sync holds back its events. */
  readonly pleg: Late<PodLifecycleEventGenerator>;
  /** The node status reads its pressure conditions. */
  readonly eviction: Late<EvictionManager | undefined>;
  /** Admission asks it whether the node still accepts pods. */
  readonly shutdown: Late<NodeShutdownManager | undefined>;
  /** Updated when the volumes in use change. */
  readonly nodeStatus: Late<NodeStatusManager>;
  /** Checks the runtime again when the node has its pod CIDR. */
  readonly runtimeMonitor: Late<RuntimeMonitor>;
}

/** Creates the bindings, all unbound. */
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

/** The pod workers as a state provider, resolved at each call. */
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
