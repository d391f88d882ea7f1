/**
 * How far the kernel's rules are behind the cluster's objects, for health checks. Changes being written count as
 * waiting; changes during the write wait from then on. Upstream: the times of proxy/healthcheck/proxy_health.go.
 */
import type { Clock } from '../platform/clock.ts';

export interface SyncState {
  /** Age of the oldest change that is not in the kernel; 0 without one. */
  readonly waitingMs: number;
  /** Wall-clock time at which the rules were last written; absent before. */
  readonly lastSyncedMs?: number;
}

/** Records the times. */
export interface SyncProgress {
  /** There is a change. */
  queued(): void;
  /** A round begins, with all changes so far. */
  taken(): void;
  /** The round has succeeded. */
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
