/** Pods that have been active longer than their spec allows. Pure. Upstream: pkg/kubelet/active_deadline.go. */
import { secondsToMs } from '../../api/int64.ts';
import type { Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { parseTime } from '../../api/time.ts';
import type { EvictVerdict } from '../status/generate.ts';

/** Reason and message of a pod that passed its deadline. */
export const DEADLINE_EXCEEDED = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
} as const satisfies EvictVerdict;

/** Milliseconds until the deadline, 0 or less when it has passed; undefined when there is none. */
export function untilActiveDeadlineMs(pod: Pod, status: PodStatus | undefined, nowMs: number): number | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  const startMs = parseTime(status?.startTime ?? pod.status?.startTime);
  return seconds === undefined || Number.isNaN(startMs) ? undefined : startMs + secondsToMs(seconds) - nowMs;
}
