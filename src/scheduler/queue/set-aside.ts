/** The back-off of a pod whose attempt ended without a node. Upstream: calculateBackoffDuration, getBackoffTime. */
import type { QueueConfig } from './contract.ts';
import type { Entry } from './queue-entries.ts';

/**
 * Pods whose back-off ends within the same window enter the active queue together, at its end, in the profile's
 * order.
 */
const WINDOW_MS = 1000;

/** Ends an attempt without a node: back-off starts now. An attempt that no plugin rejected has failed. */
export function setAside(entry: Entry, { initialBackoffMs, maxBackoffMs }: QueueConfig, nowMs: number): void {
  const isError = entry.rejectedBy.size === 0;
  if (!isError) entry.rejections++;
  entry.errors = isError ? entry.errors + 1 : 0;
  const times = isError ? entry.errors : entry.rejections;
  entry.setAsideAtMs = nowMs;
  const endsMs = nowMs + Math.min(initialBackoffMs * 2 ** (times - 1), maxBackoffMs);
  entry.backoffEndsMs = isError ? endsMs : Math.ceil(endsMs / WINDOW_MS) * WINDOW_MS;
}
