/**
 * Pod sources and operations, and the predicates of static, mirror and critical pods. Upstream: pkg/kubelet/types
 * (pod_update.go, constants.go).
 */
import type { Pod } from '../../api/gen/core-v1.ts';

export type PodSource = 'api' | 'file' | 'http';

/** An operation of a pod source. The sync loop never receives SET. */
export type PodOperation = 'SET' | 'ADD' | 'DELETE' | 'REMOVE' | 'UPDATE' | 'RECONCILE';

/** One message of a source. All its pods have the same operation. */
export interface PodUpdate {
  readonly op: PodOperation;
  readonly source: PodSource;
  readonly pods: readonly Pod[];
}

/** Why a pod worker is called. */
export type SyncPodType = 'create' | 'update' | 'sync' | 'kill';

/** Annotations of static and mirror pods. */
export const CONFIG_SOURCE_ANNOTATION = 'kubernetes.io/config.source';
export const CONFIG_MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
export const CONFIG_FIRST_SEEN_ANNOTATION = 'kubernetes.io/config.seen';
export const CONFIG_HASH_ANNOTATION = 'kubernetes.io/config.hash';

/** The source of the pod, from the annotation that `PodConfig` sets on every pod. */
export function podSource(pod: Pod): PodSource {
  const source = pod.metadata.annotations?.[CONFIG_SOURCE_ANNOTATION];
  return source === 'file' || source === 'http' ? source : 'api';
}

/** Whether the object is the API server's copy of a static pod. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] !== undefined;
}

/** Whether the pod comes from a file or a URL; its mirror pod does not. */
export function isStaticPod(pod: Pod): boolean {
  return podSource(pod) !== 'api';
}

/** Pods with this priority or a higher one are critical. Upstream: scheduling.SystemCriticalPriority. */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/** Whether the pod is critical: neither evicted nor preempted by the kubelet. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec?.priority ?? 0) >= SYSTEM_CRITICAL_PRIORITY;
}

/** The pod's uid; every pod in the kubelet has one. */
export function podUid(pod: Pod): string {
  return pod.metadata.uid ?? '';
}

export function podNamespace(pod: Pod): string {
  return pod.metadata.namespace ?? 'default';
}

export function podName(pod: Pod): string {
  return pod.metadata.name ?? '';
}

/** `name_namespace`: links a static pod to its mirror. */
export function podFullName(pod: Pod): string {
  return `${podName(pod)}_${podNamespace(pod)}`;
}

/** The fields of every log line about a pod. */
export function podFields(pod: Pod): { pod: string; podUID: string } {
  return { pod: `${podNamespace(pod)}/${podName(pod)}`, podUID: podUid(pod) };
}

/** Whether the pod uses the node's network. */
export function isHostNetworkPod(pod: Pod): boolean {
  return pod.spec?.hostNetwork === true;
}

/** Conditions that only the kubelet writes. */
const KUBELET_CONDITIONS: ReadonlySet<string> = new Set([
  'PodScheduled',
  'Ready',
  'Initialized',
  'ContainersReady',
  'PodReadyToStartContainers',
  'PodResizeInProgress',
  'PodResizePending',
  'AllContainersRestarting',
]);

/** Whether the kubelet owns this condition. */
export function isKubeletCondition(type: string): boolean {
  return KUBELET_CONDITIONS.has(type);
}
