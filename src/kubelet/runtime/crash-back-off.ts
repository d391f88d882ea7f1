/**
 * The restart back-off of crashing containers. Upstream: client-go flowcontrol.Backoff as the kubelet uses it.
 *
 * The delay starts at 10 s and doubles up to the maximum; after a run of ten minutes (or twice the maximum, if
 * longer) it starts over. Both limits can be configured, as with upstream's
 * crashLoopBackOff.maxContainerRestartPeriod and its gate for a shorter initial delay.
 */

/** Limits of the back-off. */
export interface CrashBackOffConfig {
  readonly initialMs?: number;
  readonly maxMs?: number;
}

interface Entry {
  delayMs: number;
  lastUpdateMs: number;
}

/** Delays by key. Times are wall-clock milliseconds, as they are compared with the runtime's. */
export interface CrashBackOff {
  /** The rest of the delay when the key last failed at `finishedAtMs`; 0: it may start. */
  remainingMs(key: string, finishedAtMs: number, nowMs: number): number;
  /** The key's current delay. */
  delayMs(key: string): number;
  /** The current delay of the first key with this prefix; 0 when there is none. */
  delayOf(prefix: string): number;
  /** Counts a restart after a failure at `finishedAtMs`. */
  next(key: string, finishedAtMs: number, nowMs: number): void;
  /** Removes all keys with this prefix. */
  forget(prefix: string): void;
}

const RESET_AFTER_MS = 600_000;

export function createCrashBackOff({ initialMs = 10_000, maxMs = 300_000 }: CrashBackOffConfig): CrashBackOff {
  const entries = new Map<string, Entry>();
  const expired = (entry: Entry, atMs: number): boolean =>
    atMs - entry.lastUpdateMs > Math.max(RESET_AFTER_MS, 2 * maxMs);
  return {
    remainingMs(key, finishedAtMs, nowMs) {
      const entry = entries.get(key);
      if (entry === undefined || expired(entry, finishedAtMs)) return 0;
      return Math.max(0, finishedAtMs + entry.delayMs - nowMs);
    },
    delayMs: (key) => entries.get(key)?.delayMs ?? 0,
    delayOf(prefix) {
      for (const [key, { delayMs }] of entries) if (key.startsWith(prefix)) return delayMs;
      return 0;
    },
    next(key, finishedAtMs, nowMs) {
      const entry = entries.get(key);
      const delayMs =
        entry === undefined || expired(entry, finishedAtMs)
          ? Math.min(initialMs, maxMs)
          : Math.min(entry.delayMs * 2, maxMs);
      entries.set(key, { delayMs, lastUpdateMs: nowMs });
    },
    forget(prefix) {
      for (const key of entries.keys()) if (key.startsWith(prefix)) entries.delete(key);
    },
  };
}

/** A duration as Go prints it: `10s`, `1m20s`, `5m0s`. */
export function goDuration(ms: number): string {
  if (ms === 0) return '0s';
  if (ms < 1000) return `${ms}ms`;
  const hours = Math.floor(ms / 3_600_000);
  const minutes = Math.floor((ms % 3_600_000) / 60_000);
  const seconds = (ms % 60_000) / 1000;
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}
