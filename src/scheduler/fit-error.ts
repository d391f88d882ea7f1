/** Why a pod fits nowhere, in upstream's words: `0/3 nodes are available: 2 Insufficient cpu, 1 node(s) had untolerated taint(s).` Pure. Upstream: framework.FitError. */
import type { Status } from './framework/status.ts';

/** Why a pod could not be placed. Upstream: framework.Diagnosis. */
export interface Diagnosis {
  readonly nodeCount: number;
  /** By node name. */
  readonly statuses: ReadonlyMap<string, Status>;
  /** A rejection before any node was examined. */
  readonly preFilter?: Status;
  /** The message of PostFilter plugins. */
  readonly postFilter?: string;
}

/** The message of the PodScheduled condition and the FailedScheduling event. */
export function fitErrorMessage(diagnosis: Diagnosis): string {
  const { nodeCount, statuses, preFilter, postFilter } = diagnosis;
  if (nodeCount === 0) return 'no nodes available to schedule pods';
  const head = `0/${nodeCount} nodes are available`;
  const after = postFilter === undefined || postFilter === '' ? '' : ` ${postFilter}`;
  if (preFilter !== undefined) return `${head}: ${preFilter.reasons.join(', ')}.${after}`;
  const counts = new Map<string, number>();
  for (const [status, nodes] of countAlike(statuses))
    for (const reason of status.reasons) counts.set(reason, (counts.get(reason) ?? 0) + nodes);
  const reasons = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `${head}: ${reasons.join(', ')}.${after}`;
}

const alike = new WeakMap<ReadonlyMap<string, Status>, ReadonlyMap<Status, number>>();

/**
 * How many nodes have each status. Plugins mostly return the same object for the same verdict, so thousands of nodes
 * become a few entries. Call it on a complete map only: the counts are kept as long as the map, which the pods of one
 * class share.
 */
export function countAlike(statuses: ReadonlyMap<string, Status>): ReadonlyMap<Status, number> {
  const cached = alike.get(statuses);
  if (cached !== undefined) return cached;
  const counts = new Map<Status, number>();
  for (const status of statuses.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
  alike.set(statuses, counts);
  return counts;
}

/** Names of the plugins that rejected the pod: only the events that they registered move it. */
export function rejectingPlugins(diagnosis: Diagnosis): ReadonlySet<string> {
  const names = new Set<string>();
  if (diagnosis.preFilter !== undefined) names.add(diagnosis.preFilter.plugin);
  for (const status of countAlike(diagnosis.statuses).keys()) names.add(status.plugin);
  // Without any node each new node may help, and every filter plugin registers for new nodes.
  if (diagnosis.nodeCount === 0)
    for (const name of ['NodeResourcesFit', 'NodeName', 'NodeAffinity', 'TaintToleration', 'NodeUnschedulable'])
      names.add(name);
  return names;
}
