/** Functions that the checks of agreement share. */
import type { Pod } from '../../api/gen/core-v1.ts';
import { Pods } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { isControlledBy } from '../../component-helpers/owner-references.ts';
import { isPodReady } from '../../component-helpers/pods.ts';
import type { Cluster } from '../cluster.ts';

export type Check = (cluster: Cluster) => string[];

export function nameOf({ kind = 'object', metadata }: KubernetesObject): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`;
}

/** Compares a status with the existing objects. */
export function compare(
  object: KubernetesObject,
  counts: Readonly<Record<string, readonly [reported: unknown, actual: number]>>,
) {
  return Object.entries(counts).flatMap(([field, [reported, is]]) =>
    (reported ?? 0) === is ? [] : [`${nameOf(object)}: ${field} is ${String(reported)}, there are ${is}`],
  );
}

export function observed(object: KubernetesObject): string[] {
  const { observedGeneration } = (object as { status?: { observedGeneration?: number } }).status ?? {};
  const { generation } = object.metadata;
  return observedGeneration === generation ? [] : [`${nameOf(object)}: generation ${generation} is not observed`];
}

export function podsOf(cluster: Cluster, owner: KubernetesObject): Pod[] {
  return cluster.peek(Pods).filter((pod) => isControlledBy(pod, owner));
}

export function ready(pods: readonly Pod[]): number {
  return pods.filter(isPodReady).length;
}

/** Whether the node's kubelet runs and can call the API server. */
export function isInReach(cluster: Cluster, nodeName: string | undefined): boolean {
  if (nodeName === undefined) return true;
  if (!cluster.nodes.has(nodeName)) return false;
  const machine = cluster.nodes.machine(nodeName);
  return machine.gate?.closed === false && !machine.partitioned;
}
