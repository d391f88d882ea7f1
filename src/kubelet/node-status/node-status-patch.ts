/**
 * Whether a node's status has changed, and the patch of the change. Pure. Upstream: nodeStatusHasChanged in
 * pkg/kubelet/kubelet_node_status.go.
 */
import { deepEqual } from '../../base/equal.ts';
import type { NodeStatus } from '../../api/gen/core-v1.ts';
import { strategicDiff } from '../status/status-patch.ts';
import { type NodeFacts } from './node-facts.ts';

const MERGE_KEYS = { conditions: 'type' };

function withoutHeartbeats(status: NodeStatus): NodeStatus {
  return { ...status, conditions: (status.conditions ?? []).map(({ lastHeartbeatTime: _beat, ...rest }) => rest) };
}

/** Whether anything but heartbeat times differs. */
export function nodeStatusHasChanged(before: NodeStatus, after: NodeStatus): boolean {
  return !deepEqual(withoutHeartbeats(before), withoutHeartbeats(after));
}

/** A patch. Addresses are replaced as a list: several may have the same type, which is their merge key. */
export function nodeStatusPatch(before: NodeStatus, after: NodeStatus): object | undefined {
  const { addresses: oldAddresses, ...old } = before;
  const { addresses, ...rest } = after;
  const changes = strategicDiff(old as Record<string, unknown>, rest as Record<string, unknown>, MERGE_KEYS);
  if (!deepEqual(oldAddresses ?? [], addresses ?? []))
    changes['addresses'] = [{ $patch: 'replace' }, ...(addresses ?? [])];
  return Object.keys(changes).length === 0 ? undefined : { status: changes };
}

/** Whether only the time differs. */
export function sameFacts(before: NodeFacts, now: NodeFacts): boolean {
  const names = Object.keys(now) as (keyof NodeFacts)[];
  return names.every((name) => name === 'nowMs' || deepEqual(before[name], now[name]));
}
