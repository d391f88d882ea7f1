/**
 * How far the kernel's rules are behind the cluster's objects, for health checks. What is being written counts as waiting
 * until it is there; what comes meanwhile waits from then on. Upstream: the times of proxy/healthcheck/proxy_health.go.
 */
import type { Clock } from '../platform/clock.ts';

/** The state at the moment. */
export interface SyncState {
  /** Age of the oldest change that is not in the kernel; 0 without one. */
  readonly waitingMs: number;
  /** Wall-clock time at which the rules were last written; absent before. */
  readonly lastSyncedMs?: number;
}

/** Takes the times. */
export interface SyncProgress {
  /** Something changed. */
  queued(): void;
  /** A round begins, which writes all that changed so far. */
  taken(): void;
  /** It has succeeded. */
  applied(): void;
  state(): SyncState;
}

/** Starts with nothing waiting. */
export function createSyncProgress(clock: Pick<Clock, 'nowMs' | 'monotonicMs'>): SyncProgress {
  let waiting: number | undefined;
  let writing: number | undefined;
  let lastSyncedMs: number | undefined;
  return {
    queued: () => {
      waiting ??= clock.monotonicMs();
    },
    taken() {
      writing ??= waiting ?? clock.monotonicMs();
      waiting = undefined;
    },
    applied() {
      writing = undefined;
      lastSyncedMs = clock.nowMs();
    },
    state() {
      const now = clock.monotonicMs();
      return { waitingMs: now - (writing ?? waiting ?? now), lastSyncedMs };
    },
  };
}
