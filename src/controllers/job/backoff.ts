/**
 * The back-off of new pods after failures. Pure. Upstream: controller/job/backoff_utils.go. Differs on purpose:
 * computed from the existing pods instead of from memory, so a restart loses nothing.
 */
import { secondsToMs } from '../../api/int64.ts';
import { parseTime } from '../../api/time.ts';
import type { Pod } from '../../api/gen/core-v1.ts';

const FIRST_MS = 10_000;
const MAX_MS = 10 * 60_000;

/** Milliseconds to wait: doubled for each failure since the last success, counted from the last failure. */
export function remainingBackoffMs(succeeded: readonly Pod[], failed: readonly Pod[], nowMs: number): number {
  const lastSuccess = latest(succeeded.map(finishedAtMs));
  const since = failed.map(finishedAtMs).filter((ms) => ms > lastSuccess);
  return since.length === 0 ? 0 : Math.max(0, latest(since) + delayMs(since.length) - nowMs);
}

/** The latest moment, for any number of them; Math.max takes some 120,000 arguments. */
function latest(moments: readonly number[]): number {
  return moments.reduce((last, ms) => Math.max(last, ms), -Infinity);
}

/** The back-off of an index after its own number of failures. */
export function remainingIndexBackoffMs(lastFailed: Pod, failures: number, nowMs: number): number {
  return failures === 0 ? 0 : Math.max(0, finishedAtMs(lastFailed) + delayMs(failures) - nowMs);
}

function delayMs(failures: number): number {
  return Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures - 1, 16));
}

/** When the last container ended; without that, when the pod became unready or was deleted. */
function finishedAtMs(pod: Pod): number {
  const ends = (pod.status?.containerStatuses ?? []).map((status) => parseTime(status.state?.terminated?.finishedAt));
  if (ends.length > 0 && ends.every((ms) => !Number.isNaN(ms))) return latest(ends);
  const notReady = pod.status?.conditions?.find(
    (condition) => condition.type === 'Ready' && condition.status === 'False',
  );
  const readyMs = parseTime(notReady?.lastTransitionTime);
  if (!Number.isNaN(readyMs)) return readyMs;
  // A deletion timestamp is the end of the grace period.
  const deletedMs =
    parseTime(pod.metadata.deletionTimestamp) - secondsToMs(pod.metadata.deletionGracePeriodSeconds ?? 0);
  if (!Number.isNaN(deletedMs)) return deletedMs;
  const createdMs = parseTime(pod.metadata.creationTimestamp);
  return Number.isNaN(createdMs) ? 0 : createdMs;
}
