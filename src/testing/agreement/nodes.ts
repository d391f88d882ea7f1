/** Machines run the pods that the API server assigns to them, and taints match the conditions of nodes. */
import type { Node } from '../../api/gen/core-v1.ts';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import { parseTime } from '../../api/time.ts';
import { nodeCondition } from '../../component-helpers/nodes.ts';
import type { Cluster } from '../cluster.ts';
import { isInReach, nameOf } from './comparisons.ts';

/** Pods on nodes that do not exist, except pods with a finalizer. */
export function podsOfNoNode(cluster: Cluster): string[] {
  const nodes = new Set(cluster.peek(Nodes).map(({ metadata }) => metadata.name));
  return cluster.peek(Pods).flatMap((pod) => {
    const { nodeName } = pod.spec ?? {};
    const isHeld = pod.metadata.deletionTimestamp !== undefined && (pod.metadata.finalizers ?? []).length > 0;
    if (nodeName === undefined || nodes.has(nodeName) || isHeld) return [];
    return [`${nameOf(pod)} is on ${nodeName}, which is no more`];
  });
}

/** Pods on reachable nodes that should have ended long ago. */
export function podsOverdue(cluster: Cluster): string[] {
  return cluster.peek(Pods).flatMap((pod) => {
    const { deletionTimestamp, finalizers = [] } = pod.metadata;
    const overdue = deletionTimestamp !== undefined && parseTime(deletionTimestamp) < cluster.nowMs - 60_000;
    if (!overdue || finalizers.length > 0 || !isInReach(cluster, pod.spec?.nodeName)) return [];
    return [`${nameOf(pod)} should have gone at ${deletionTimestamp}`];
  });
}

/** Reachable machines run the containers that statuses report. */
export function machines(cluster: Cluster): string[] {
  return cluster.peek(Pods).flatMap((pod) => {
    const { nodeName } = pod.spec ?? {};
    if (nodeName === undefined || !isInReach(cluster, nodeName) || pod.metadata.deletionTimestamp !== undefined)
      return [];
    const { containers } = cluster.nodes.runtime(nodeName);
    const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
    return statuses
      .filter(({ state }) => state?.running !== undefined)
      .filter(
        ({ containerID }) => containers.get(containerID?.replace(/^.*:\/\//, '') ?? '')?.state !== 'CONTAINER_RUNNING',
      )
      .map(({ name }) => `${nameOf(pod)} says that ${name} runs, and it does not`);
  });
}

const TAINTS = { Unknown: 'node.kubernetes.io/unreachable', False: 'node.kubernetes.io/not-ready' } as const;

export function taints(cluster: Cluster): string[] {
  return cluster.peek(Nodes).flatMap((node: Node) => {
    const holds = nodeCondition(node, 'Ready')?.status ?? 'Unknown';
    const wanted = TAINTS[holds as keyof typeof TAINTS] as string | undefined;
    const has = (node.spec?.taints ?? []).filter(({ key }) => Object.values<string>(TAINTS).includes(key));
    const keys = [...new Set(has.map(({ key }) => key))];
    return keys.length === (wanted === undefined ? 0 : 1) && (wanted === undefined || keys[0] === wanted)
      ? []
      : [`${nameOf(node)} is Ready=${holds} and has the taints ${keys.join() || 'none'}`];
  });
}
