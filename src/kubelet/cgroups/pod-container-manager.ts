/** Contract of pod and QoS cgroups for the kubelet's core. Upstream: pkg/kubelet/cm. */
import type { Pod } from '../../api/gen/core-v1.ts';

/** Creates, limits and removes the cgroups of pods and QoS classes. */
export interface PodContainerManager {
  /** Creates kubepods and the QoS cgroups with the node's allocatable limits. */
  start(signal: AbortSignal): Promise<void>;
  ensurePodCgroup(pod: Pod): Promise<void>;
  /** Applies changed limits of an in-place resize; rejects with the reason of `memoryRefusal`. */
  updatePodCgroup(pod: Pod): Promise<void>;
  /** Why the pod's memory limit cannot be lowered to this: the pod uses more. Undefined when it can, or is not lowered. */
  memoryRefusal(pod: Pod): Promise<string | undefined>;
  podCgroupExists(pod: Pod): Promise<boolean>;
  /** Value for CRI's `cgroup_parent`. */
  criParent(pod: Pod): string;
  /** Kills remaining processes and removes the cgroup. By uid, for orphans too. */
  destroyPodCgroup(podUid: string): Promise<void>;
  /** Uids of all pods that have a cgroup, for orphan clean-up. */
  podUids(): Promise<readonly string[]>;
}
