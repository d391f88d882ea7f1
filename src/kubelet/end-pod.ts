/** Ending a pod for good: what eviction, preemption and the shutdown of the node ask of the pod workers. */
import type { Pod, PodStatus } from '../api/gen/core-v1.ts';

/** Ends the pod; resolves when its containers have stopped. */
export type EndPod = (request: {
  readonly pod: Pod;
  readonly gracePeriodSeconds: number;
  /** The status it ends with. */
  readonly changeStatus: (status: PodStatus) => PodStatus;
}) => Promise<void>;
