/**
 * The circular dependencies of the kubelet's parts: parts that are used by parts created before them. Each is bound once while
 * the kubelet is put together; nothing uses it before the start.
 */
import type { NodeStatusManager } from '../node-status/node-status-manager.ts';
import type { PodSyncer } from '../pod-workers/pod-syncer.ts';

/** A part that is created later than what uses it. */
export interface LateBinding<T> {
  /** Sets the part and returns it. */
  bind(part: T): T;
  /** @throws Error before the part is bound */
  get(): T;
}

export interface LateBindings {
  /** Pod workers sync pods with it. It uses nearly all other parts, most of which use the pod workers. */
  readonly podSyncer: LateBinding<PodSyncer>;
  /** Updated when volumes, devices or pressures change. It reports all three. */
  readonly nodeStatus: LateBinding<NodeStatusManager>;
}

export function createLateBindings(): LateBindings {
  return { podSyncer: createLateBinding('the pod syncer'), nodeStatus: createLateBinding('the node status') };
}

/** The pod syncer for the pod workers, resolved at each call. */
export function latePodSyncer({ podSyncer }: LateBindings): PodSyncer {
  return {
    syncPod: (request) => podSyncer.get().syncPod(request),
    syncTerminatingPod: (request) => podSyncer.get().syncTerminatingPod(request),
    syncTerminatingRuntimePod: (runningPod, signal) => podSyncer.get().syncTerminatingRuntimePod(runningPod, signal),
    syncTerminatedPod: (request) => podSyncer.get().syncTerminatedPod(request),
  };
}

function createLateBinding<T>(name: string): LateBinding<T> {
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
