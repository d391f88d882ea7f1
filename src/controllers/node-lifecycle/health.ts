/**
 * Determines the health of nodes from heartbeats and leases, aged by the local monotonic clock. Pure. Upstream:
 * controller/nodelifecycle tryUpdateNodeHealth.
 */
import { formatTime } from '../../api/time.ts';
import type { Lease } from '../../api/gen/coordination-v1.ts';
import type { Node, NodeCondition } from '../../api/gen/core-v1.ts';
import { nodeCondition } from '../../component-helpers/nodes.ts';

/** The last status and lease of a node, and the local time at which they arrived. */
export interface NodeHealth {
  readonly heartbeat: string | undefined;
  readonly renewTime: string | undefined;
  readonly probeTimestampMs: number;
}

/** The health after this observation; `probeTimestampMs` changes only with the heartbeat or the lease. Upstream: nodeHealthData. */
export function observeNode(
  old: NodeHealth | undefined,
  node: Node,
  seen: { readonly lease: Lease | undefined; readonly nowMs: number },
): NodeHealth {
  const heartbeat = nodeCondition(node, 'Ready')?.lastHeartbeatTime;
  const renewTime = seen.lease?.spec?.renewTime;
  if (old !== undefined && old.heartbeat === heartbeat && old.renewTime === renewTime) return old;
  return { heartbeat, renewTime, probeTimestampMs: seen.nowMs };
}

const WATCHED = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** Unknown conditions for a node without heartbeats; the same array when nothing changes. */
export function silentConditions(node: Node, nowMs: number): NodeCondition[] {
  const conditions = node.status?.conditions ?? [];
  const now = formatTime(nowMs);
  let next = conditions;
  for (const type of WATCHED) {
    const current = conditions.find((condition) => condition.type === type);
    if (current === undefined) {
      const created = node.metadata.creationTimestamp ?? now;
      const never = { reason: 'NodeStatusNeverUpdated', message: 'Kubelet never posted node status.' };
      next = [...next, { type, status: 'Unknown', ...never, lastHeartbeatTime: created, lastTransitionTime: now }];
    } else if (current.status !== 'Unknown') {
      const silent = { reason: 'NodeStatusUnknown', message: 'Kubelet stopped posting node status.' };
      next = next.map((condition) =>
        condition === current ? { ...current, status: 'Unknown', ...silent, lastTransitionTime: now } : condition,
      );
    }
  }
  return next;
}
