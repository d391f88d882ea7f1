/** Writes why a pod is unschedulable into its PodScheduled condition, unless the condition already says so. */
import type { Pod, PodCondition } from '../api/gen/core-v1.ts';
import { Pods } from '../api/gen/resources.ts';
import { isReason } from '../api/status-error.ts';
import { formatTime } from '../api/time.ts';
import type { Stored } from '../api/object.ts';
import type { Client } from '../client/client.ts';
import type { Clock } from '../platform/clock.ts';

/** Why a pod waits. */
export interface UnschedulableReport {
  readonly message: string;
  readonly clock: Clock;
  /** The pod's nominated node; empty: none. */
  readonly nominatedNode?: string;
  readonly reason?: 'Unschedulable' | 'SchedulerError';
}

/** Patches the condition. NotFound is no error. */
export async function reportUnschedulable(
  client: Client,
  pod: Stored<Pod>,
  report: UnschedulableReport,
): Promise<void> {
  const { name, namespace, uid } = pod.metadata;
  const { reason = 'Unschedulable' } = report;
  const current = pod.status?.conditions?.find((c) => c.type === 'PodScheduled');
  const renominated =
    report.nominatedNode !== undefined && report.nominatedNode !== (pod.status?.nominatedNodeName ?? '');
  if (current?.status === 'False' && current.reason === reason && current.message === report.message && !renominated)
    return;
  const condition: PodCondition = {
    type: 'PodScheduled',
    status: 'False',
    reason,
    message: report.message,
    lastTransitionTime:
      current?.status === 'False'
        ? (current.lastTransitionTime ?? formatTime(report.clock.nowMs()))
        : formatTime(report.clock.nowMs()),
  };
  const patch = {
    metadata: { uid },
    status: {
      conditions: [condition],
      ...(renominated ? { nominatedNodeName: report.nominatedNode === '' ? null : report.nominatedNode } : {}),
    },
  };
  try {
    await client.resource(Pods).patch({ namespace, name }, { type: 'strategic', patch }, { subresource: 'status' });
  } catch (error) {
    if (!isReason(error, 'NotFound', 'Conflict')) throw error;
  }
}

/**
 * Writes `nominatedNodeName` before a binding that takes time. Resolves to whether it was written; a pod that was
 * deleted, or replaced by one of the same name, is left alone. Upstream: NominatedNodeNameForExpectation.
 */
export async function reportNomination(client: Client, pod: Stored<Pod>, nodeName: string): Promise<boolean> {
  if (pod.status?.nominatedNodeName === nodeName) return true;
  const { name, namespace, uid } = pod.metadata;
  const patch = { metadata: { uid }, status: { nominatedNodeName: nodeName } };
  try {
    await client.resource(Pods).patch({ namespace, name }, { type: 'merge', patch }, { subresource: 'status' });
    return true;
  } catch (error) {
    if (isReason(error, 'NotFound', 'Conflict')) return false;
    throw error;
  }
}
