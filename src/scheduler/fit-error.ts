/** Why a pod fits nowhere, in upstream's words: `0/3 nodes are available: 2 Insufficient cpu, 1 node(s) had untolerated taint(s).` Pure. Upstream: framework.FitError. */
import type { Status } from './framework/status.ts';

/** What was found out about a pod that could not be placed. */
export interface Diagnosis {
  readonly nodeCount: number;
  /** By node name. */
  readonly statuses: ReadonlyMap<string, Status>;
  /** A rejection before any node was looked at. */
  readonly preFilter?: Status;
  /** What preemption had to say. */
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
 * How many nodes each verdict was given to. Plugins give the same object for the same verdict, mostly: thousands of nodes
 * become a few. Call it only on a map that is complete: the counts are kept as long as the map, which pods of one class share.
 */
export function countAlike(statuses: ReadonlyMap<string, Status>): ReadonlyMap<Status, number> {
  const known = alike.get(statuses);
  if (known !== undefined) return known;
  const counts = new Map<Status, number>();
  for (const status of statuses.values()) counts.set(status, (counts.get(status) ?? 0) + 1);
  alike.set(statuses, counts);
  return counts;
}

/** Names of the plugins that rejected the pod: only events they asked for wake it. */
export function rejectingPlugins(diagnosis: Diagnosis): ReadonlySet<string> {
  const names = new Set<string>();
  if (diagnosis.preFilter !== undefined) names.add(diagnosis.preFilter.plugin);
  for (const status of countAlike(diagnosis.statuses).keys()) names.add(status.plugin);
  // Without a node any new one may help; every filter plugin waits for nodes.
  if (diagnosis.nodeCount === 0)
    for (const name of ['NodeResourcesFit', 'NodeName', 'NodeAffinity', 'TaintToleration', 'NodeUnschedulable'])
      names.add(name);
  return names;
}
