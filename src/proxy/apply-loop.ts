/**
 * The loop in which every mode applies its rules: changes of one turn go into one transaction, and one transaction
 * runs at a time. Everything is written at the start, every minute (which repairs changes by others) and after a
 * failure, which is retried with back-off.
 */
import { onAbort } from '../base/abort.ts';
import { createBackoff } from '../base/backoff.ts';
import { sleepUnlessAborted } from '../platform/clock.ts';
import { logFailedRound } from '../platform/unexpected.ts';
import type { ProxyMetrics } from './proxy-metrics.ts';
import type { ApplierDeps, RuleApplier } from './rule-applier.ts';

/** How much of the kernel's current rules is relied on. */
export interface WriteScope {
  /** All rules are written; nothing is relied on. */
  readonly whole: boolean;
  /** A full write has failed too: nftables then recreates its tables, other modes repeat the full write. */
  readonly fromScratch: boolean;
}

export interface ApplyMode {
  readonly metrics: ProxyMetrics;
  /** The minimum between two transactions. */
  readonly minGapMs: number;
  /** One transaction. */
  apply(extent: WriteScope): Promise<void>;
  /** Called after a transaction. */
  onApplied(): void;
}

const RESYNC_PERIOD_MS = 60_000;
const RETRY = { initialMs: 100, maxMs: 30_000 };

/** Nothing is written before `run`. */
export function createApplyLoop(
  { clock, log }: Pick<ApplierDeps, 'clock' | 'log'>,
  { metrics, minGapMs, apply, onApplied }: ApplyMode,
): Omit<RuleApplier, 'remove'> {
  const backoff = createBackoff(RETRY);
  const synced = Promise.withResolvers<void>();
  let wake = Promise.withResolvers<void>();
  let [whole, fromScratch, healthy] = [true, false, false];

  /** Returns the delay until the next round. */
  async function round(signal: AbortSignal): Promise<number> {
    const extent = { whole, fromScratch };
    whole = false;
    try {
      await apply(extent);
      [fromScratch, healthy] = [false, true];
      backoff.reset();
      synced.resolve();
      onApplied();
      return minGapMs;
    } catch (error) {
      if (signal.aborted) return 0;
      const delayMs = backoff.nextMs();
      // Rules that others changed, or of another layout, are recreated at the second attempt.
      fromScratch = whole || !healthy;
      [whole, healthy] = [true, false];
      metrics.failed();
      logFailedRound(log, 'service rules were not applied, again later', { err: error, delayMs });
      wake.resolve();
      return delayMs;
    }
  }

  return {
    synced: synced.promise,
    healthy: () => healthy,
    kick: () => wake.resolve(),
    async run(signal) {
      const stopTicker = clock.setTicker(RESYNC_PERIOD_MS, () => {
        whole = true;
        wake.resolve();
      });
      onAbort(signal, () => wake.resolve());
      wake.resolve();
      while (!signal.aborted) {
        await wake.promise;
        if (signal.aborted) break;
        await clock.yield(); // changes of one event arrive in one turn
        wake = Promise.withResolvers();
        const restMs = await round(signal);
        await sleepUnlessAborted(clock, restMs, signal);
      }
      stopTicker();
    },
  };
}
