/**
 * Computes rates from counters: CPU nanoseconds to nanocores. Upstream: getAndUpdateContainerUsageNanoCores.
 *
 * Readings happen on request and may be close together: a rate is computed over at least `minWindowMs`, and the last
 * one is returned in between.
 */

/** Rates by key. */
export interface UsageRates {
  /** Adds a reading; undefined until there are two. A counter that decreased starts over. */
  rate(key: string, timeMs: number, counterNs: number): number | undefined;
  /** Forgets keys without a reading since this time. */
  forgetBefore(timeMs: number): void;
}

interface CpuSample {
  timeMs: number;
  counterNs: number;
  lastSeenMs: number;
  nanoCores: number | undefined;
}

const MIN_WINDOW_MS = 1000;

export function createUsageRates(): UsageRates {
  const readings = new Map<string, CpuSample>();
  return {
    rate(key, timeMs, counterNs) {
      const last = readings.get(key);
      if (last === undefined || counterNs < last.counterNs) {
        readings.set(key, { timeMs, counterNs, lastSeenMs: timeMs, nanoCores: undefined });
        return undefined;
      }
      last.lastSeenMs = timeMs;
      const windowMs = timeMs - last.timeMs;
      if (windowMs < MIN_WINDOW_MS) return last.nanoCores;
      last.nanoCores = Math.round(((counterNs - last.counterNs) / windowMs) * 1000);
      last.timeMs = timeMs;
      last.counterNs = counterNs;
      return last.nanoCores;
    },
    forgetBefore(timeMs) {
      for (const [key, { lastSeenMs }] of readings) if (lastSeenMs < timeMs) readings.delete(key);
    },
  };
}
