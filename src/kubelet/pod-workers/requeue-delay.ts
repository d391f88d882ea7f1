/** When a pod is synced again after a sync. Upstream: completeWork in pkg/kubelet/pod_workers.go. */
import type { Random } from '../../platform/random.ts';
import { PodSyncError, type SyncPodOutcome } from './pod-syncer.ts';

/** Part of the message of a sync that failed for the missing network: it is retried soon. */
export const NETWORK_NOT_READY_MESSAGE = 'network is not ready';

const RESYNC_JITTER = 0.5;
const BACK_OFF_JITTER = 0.5;
const TRANSIENT_BACK_OFF_MS = 1_000;

/** Periods, milliseconds. */
export interface RequeueConfig {
  /** Delay until a pod without events is synced again, plus up to half of it. Upstream: syncFrequency, 1 min. */
  readonly resyncIntervalMs: number;
  /** After a failed sync, plus up to half as much. Upstream: 10 s. */
  readonly backOffPeriodMs: number;
}

/** `error` undefined: the sync succeeded. */
export interface SyncResult {
  readonly outcome: SyncPodOutcome;
  readonly error: unknown;
}

/** Delays, milliseconds, each with its own jitter. */
export interface RequeueDelays {
  /** Delay after a sync. The sync's own retry time holds when it is earlier. */
  after(result: SyncResult): number;
  /** Delay until a pod that may not start yet is tried again. */
  backOffMs(): number;
}

export function createRequeueDelays(random: Random, config: RequeueConfig): RequeueDelays {
  const jitter = (periodMs: number, factor: number): number => periodMs * (1 + random.next() * factor);
  const backOffMs = (): number => jitter(config.backOffPeriodMs, BACK_OFF_JITTER);

  function ownDelayMs(error: unknown): number {
    if (error === undefined) return jitter(config.resyncIntervalMs, RESYNC_JITTER);
    const transient = error instanceof Error && error.message.includes(NETWORK_NOT_READY_MESSAGE);
    return transient ? jitter(TRANSIENT_BACK_OFF_MS, BACK_OFF_JITTER) : backOffMs();
  }

  return {
    backOffMs,
    after({ outcome, error }) {
      const delayMs = ownDelayMs(error);
      const retryAfterMs = error instanceof PodSyncError ? error.retryAfterMs : outcome.retryAfterMs;
      return retryAfterMs === undefined ? delayMs : Math.min(delayMs, retryAfterMs);
    },
  };
}
