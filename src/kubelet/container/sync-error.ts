/** Upstream: PodSyncResult.Error (pkg/kubelet/container/sync_result.go). */
import { aggregateText } from '../../base/errors.ts';
import type { SyncStep } from './runtime.ts';

/** The combined error of the failed steps; undefined when none failed. */
export function syncError(steps: readonly SyncStep[]): Error | undefined {
  const failed = steps.filter(({ reason }) => reason !== undefined);
  if (failed.length === 0) return undefined;
  const texts = failed.map(
    ({ action, target, reason, message }) => `failed to "${action}" for "${target}" with ${reason}: "${message}"`,
  );
  return new Error(aggregateText(texts));
}
