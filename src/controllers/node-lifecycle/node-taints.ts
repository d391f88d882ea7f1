/**
 * The taints that follow from a node's conditions. Pure. Upstream: controller/nodelifecycle doNoScheduleTaintingPass
 * and util.
 */
import { formatTime } from '../../api/time.ts';
import type { Node, Taint } from '../../api/gen/core-v1.ts';
import { nodeCondition, sameTaint } from '../../component-helpers/nodes.ts';

export const NOT_READY = 'node.kubernetes.io/not-ready';
export const UNREACHABLE = 'node.kubernetes.io/unreachable';
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable';

/** The taint key by condition type and status. */
const TAINT_OF: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Ready: { False: NOT_READY, Unknown: UNREACHABLE },
  MemoryPressure: { True: 'node.kubernetes.io/memory-pressure' },
  DiskPressure: { True: 'node.kubernetes.io/disk-pressure' },
  NetworkUnavailable: { True: 'node.kubernetes.io/network-unavailable' },
  PIDPressure: { True: 'node.kubernetes.io/pid-pressure' },
};
const MANAGED = new Set([...Object.values(TAINT_OF).flatMap((keys) => Object.values(keys)), UNSCHEDULABLE]);

/** The change of the NoExecute taints: `clear` both, keep them, or have exactly one of them. */
export type NoExecuteChange = 'clear' | 'keep' | typeof NOT_READY | typeof UNREACHABLE;

/** The node's desired taints; the same array when nothing changes. Taints of others are kept. */
export function desiredTaints(node: Node, noExecute: NoExecuteChange, nowMs: number): readonly Taint[] {
  const current = node.spec?.taints ?? [];
  const wanted: Taint[] = noScheduleKeys(node).map((key) => ({ key, effect: 'NoSchedule' }));
  if (noExecute === NOT_READY || noExecute === UNREACHABLE) wanted.push({ key: noExecute, effect: 'NoExecute' });
  const ours = (taint: Taint): boolean =>
    (taint.effect === 'NoSchedule' && MANAGED.has(taint.key)) ||
    (noExecute !== 'keep' && taint.effect === 'NoExecute' && (taint.key === NOT_READY || taint.key === UNREACHABLE));
  const remaining = current.filter((taint) => !ours(taint) || wanted.some((other) => sameTaint(other, taint)));
  const missing = wanted.filter((taint) => !current.some((other) => sameTaint(other, taint)));
  if (remaining.length === current.length && missing.length === 0) return current;
  return [...remaining, ...missing.map((taint) => ({ ...taint, timeAdded: formatTime(nowMs) }))];
}

function noScheduleKeys(node: Node): string[] {
  const keys: string[] = [];
  for (const [type, byStatus] of Object.entries(TAINT_OF)) {
    const key = byStatus[nodeCondition(node, type)?.status ?? ''];
    if (key !== undefined) keys.push(key);
  }
  if (node.spec?.unschedulable === true) keys.push(UNSCHEDULABLE);
  return keys;
}

/** The NoExecute taint by the node's readiness. */
export function noExecuteFor(node: Node): typeof NOT_READY | typeof UNREACHABLE | undefined {
  const status = nodeCondition(node, 'Ready')?.status;
  return status === 'False' ? NOT_READY : status === 'True' ? undefined : UNREACHABLE;
}
