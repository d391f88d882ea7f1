/** When a pod is synced again after a sync. Upstream: completeWork in pkg/kubelet/pod_workers.go. */
import type { Random } from '../../platform/random.ts';
import { PodSyncError, type SyncPodOutcome } from './pod-syncer.ts';

/** Part of the error of a sync that failed because the network is not ready; such a sync is retried soon. */
export const NETWORK_NOT_READY_MESSAGE = 'network is not ready';

const RESYNC_JITTER = 0.5;
const BACK_OFF_JITTER = 0.5;
const TRANSIENT_BACK_OFF_MS = 1_000;

/** Periods, milliseconds. */
export interface RequeueConfig {
  /**
   * The delay until an idle pod is synced again; up to half of it is added at random. Upstream: syncFrequency, 1 min.
   */
  readonly resyncIntervalMs: number;
  /** The delay after a failed sync; up to half of it is added at random. Upstream: 10 s. */
  readonly backOffPeriodMs: number;
}

/** `error` undefined: the sync succeeded. */
export interface SyncResult {
  readonly outcome: SyncPodOutcome;
  readonly error: unknown;
}

/** Delays in milliseconds, each with its own jitter. */
export interface RequeueDelays {
  /** The delay after a sync; an earlier retry time of the sync itself takes precedence. */
  after(result: SyncResult): number;
  /** The delay until a pod is retried that may not start yet. */
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
