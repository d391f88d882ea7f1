/** The part of the core that the kubelet's HTTP server and statistics use. Upstream: server.HostInterface. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PodActivity } from '../../api/pod-activity.ts';
import type { PodNodeState } from '../../api/pod-node-state.ts';
import type { StepsOf } from '../../component-helpers/pod-trace/trace-step.ts';
import type { PodStatus } from '../container/runtime.ts';

/** The core as its server sees it. */
export interface KubeletHost {
  readonly nodeName: string;
  /** Pods of this node with their newest status. */
  pods(): readonly Pod[];
  podByName(namespace: string, name: string): Pod | undefined;
  podByUid(uid: string): Pod | undefined;
  /** Newest runtime status, from the pod cache. */
  podStatus(uid: string): PodStatus | undefined;
  /** Reads the steps of a pod's start. */
  readonly stepsOf: StepsOf;
  /** The pod's state that no API object shows (retries, pulls, volumes); undefined when the node has no such pod. */
  stateOf(namespace: string, name: string): PodNodeState | undefined;
  /** The recorded activity for a pod, from the first call on; undefined when the node has no such pod. */
  activityOf(namespace: string, name: string): PodActivity | undefined;
  /** Problems that make /healthz fail; empty when healthy. */
  healthProblems(): readonly string[];
  /** The configuration for /configz. */
  configz(): object;
}
