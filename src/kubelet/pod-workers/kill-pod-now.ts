/**
 * How eviction, preemption and node shutdown terminate a pod: its worker kills it with a status that they provide,
 * and the pod stays in the API as Failed. Upstream: killPodNow in pkg/kubelet/pod_workers.go, KillPodFunc in
 * pkg/kubelet/eviction.
 */
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import type { PodWorkers } from './pod-syncer.ts';

/** Terminates the pod; resolves when its containers have stopped. */
export type KillPodFunc = (request: {
  readonly pod: Pod;
  readonly gracePeriodSeconds: number;
  /** Returns the pod's final status from its current one. */
  readonly changeStatus: (status: PodStatus) => PodStatus;
}) => Promise<void>;

export function killPodNow(podWorkers: Pick<PodWorkers, 'updatePod'>): KillPodFunc {
  return ({ pod, gracePeriodSeconds, changeStatus }) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    podWorkers.updatePod({
      pod,
      updateType: 'kill',
      killPodOptions: {
        evict: true,
        onTerminated: resolve,
        podStatus: changeStatus,
        gracePeriodSecondsOverride: gracePeriodSeconds,
      },
    });
    return promise;
  };
}
