/**
 * Words the kubelet's parts share about pods: where a pod comes from, what may be done with it, static and mirror pods.
 * Upstream: pkg/kubelet/types (pod_update.go, constants.go).
 */
import type { Pod } from '../../api/gen/core-v1.ts';

export type PodSource = 'api' | 'file' | 'http';

/** An operation of a pod source. The sync loop never gets SET. */
export type PodOperation = 'SET' | 'ADD' | 'DELETE' | 'REMOVE' | 'UPDATE' | 'RECONCILE';

/** One message of a source. Pods of one message share the operation. */
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

/** Where the pod comes from, by the annotation with which `PodConfig` marks every pod it passes on. */
export function podSource(pod: Pod): PodSource {
  const source = pod.metadata.annotations?.[CONFIG_SOURCE_ANNOTATION];
  return source === 'file' || source === 'http' ? source : 'api';
}

/** Whether the API server holds a copy of a static pod in this object. */
export function isMirrorPod(pod: Pod): boolean {
  return pod.metadata.annotations?.[CONFIG_MIRROR_ANNOTATION] !== undefined;
}

/** Whether the pod comes from a file or a URL. Mirror pods come from the API server. */
export function isStaticPod(pod: Pod): boolean {
  return podSource(pod) !== 'api';
}

/** Pods of this priority and above are critical. Upstream: scheduling.SystemCriticalPriority. */
const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/** Whether the kubelet neither evicts nor preempts the pod. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec?.priority ?? 0) >= SYSTEM_CRITICAL_PRIORITY;
}

/** Uid of a pod; every pod in the kubelet has one. */
export function podUid(pod: Pod): string {
  return pod.metadata.uid ?? '';
}

export function podNamespace(pod: Pod): string {
  return pod.metadata.namespace ?? 'default';
}

export function podName(pod: Pod): string {
  return pod.metadata.name ?? '';
}

/** `name_namespace`: ties a static pod to its mirror. */
export function podFullName(pod: Pod): string {
  return `${podName(pod)}_${podNamespace(pod)}`;
}

/** Fields every log line about a pod bears. */
export function podFields(pod: Pod): { pod: string; podUID: string } {
  return { pod: `${podNamespace(pod)}/${podName(pod)}`, podUID: podUid(pod) };
}

/** Whether the pod uses the node's network. */
export function isHostNetworkPod(pod: Pod): boolean {
  return pod.spec?.hostNetwork === true;
}

/** Conditions the kubelet alone writes. */
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
