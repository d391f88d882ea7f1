/**
 * Puts the rule books into the kernel. Thin: it batches what arrives within one turn, runs one `nft` at a time, rewrites the
 * whole table at the start, every minute (which heals what others did to it) and after a failure, and retries with back-off.
 */
import { createBackoff } from '../base/backoff.ts';
import type { ExecResult } from '../platform/exec.ts';
import { changeScript, removalScript, rewriteScript, type TableConfig } from './nft-script.ts';
import { createProxyMetrics } from './proxy-metrics.ts';
import type { ApplierDeps, RuleApplier } from './rule-applier.ts';
import type { RuleBook } from './rule-book.ts';

/** One table and what it should hold. */
export interface RuleTable {
  readonly config: TableConfig;
  readonly book: RuleBook;
}

/** What to apply and how. */
export interface ApplierConfig {
  readonly tables: readonly RuleTable[];
  /** Put before each command, e.g. `ip netns exec NAME`. */
  readonly commandPrefix?: readonly string[];
  /** Brings the books up to date; called right before they are read. */
  prepare(): void;
  /** Called after a transaction with everything that `prepare` saw. */
  onApplied(): void;
}

const RESYNC_PERIOD_MS = 60_000;
const MIN_GAP_MS = 10;
const RETRY = { initialMs: 100, maxMs: 30_000 };

/** Makes an applier that does nothing until it runs. */
export function createNftablesApplier(deps: ApplierDeps, config: ApplierConfig): RuleApplier {
  const { clock, log } = deps;
  const metrics = createProxyMetrics(deps.metrics);
  const backoff = createBackoff(RETRY);
  const synced = Promise.withResolvers<void>();
  let wake = Promise.withResolvers<void>();
  let rewrite = true;
  let fromScratch = false;
  let healthy = false;

  const nft = (input: string): Promise<ExecResult> => {
    const [file, ...args] = [...(config.commandPrefix ?? []), 'nft', '-f', '-'];
    return deps.exec.run(file as string, args, { input });
  };

  /** One transaction over all tables. */
  async function apply(): Promise<void> {
    const whole = rewrite;
    rewrite = false;
    config.prepare();
    const plans = config.tables.map(({ book, config: table }) => {
      const all = whole ? book.takeAll() : undefined;
      const changes = all ?? book.takeChanges();
      return {
        book,
        changes,
        script: all === undefined ? changeScript(table, changes) : rewriteScript(table, all, fromScratch),
      };
    });
    const script = plans.map((plan) => plan.script).join('');
    const startMs = clock.monotonicMs();
    if (script !== '') await transact(script);
    for (const { book, changes } of plans) {
      if (whole) book.rewritten(changes);
      else book.applied(changes);
    }
    metrics.synced((clock.monotonicMs() - startMs) / 1000, clock.nowMs() / 1000);
  }
  async function transact(script: string): Promise<void> {
    const result = await nft(script);
    if (result.exitCode !== 0) throw new Error(`nft: ${firstLines(result.stderr)}`);
  }
  async function round(signal: AbortSignal): Promise<void> {
    try {
      await apply();
      fromScratch = false;
      healthy = true;
      backoff.reset();
      synced.resolve();
      config.onApplied();
      await clock.sleep(MIN_GAP_MS, signal);
    } catch (error) {
      if (signal.aborted) return;
      const delayMs = backoff.nextMs();
      // A table that somebody tore apart, or one of another layout, is made anew at the second try.
      fromScratch = rewrite || !healthy;
      rewrite = true;
      healthy = false;
      metrics.failed();
      log.error('service rules were not applied, again later', { err: error, delayMs });
      wake.resolve();
      await clock.sleep(delayMs, signal).catch(() => undefined);
    }
  }

  return {
    synced: synced.promise,
    healthy: () => healthy,
    kick: () => wake.resolve(),
    async run(signal) {
      const stopTicker = clock.setTicker(RESYNC_PERIOD_MS, () => {
        rewrite = true;
        wake.resolve();
      });
      signal.addEventListener('abort', () => wake.resolve(), { once: true });
      wake.resolve();
      while (!signal.aborted) {
        await wake.promise;
        if (signal.aborted) break;
        await clock.yield(); // what belongs to one event arrives in one turn
        wake = Promise.withResolvers();
        await round(signal);
      }
      stopTicker();
    },
    async remove() {
      await transact(config.tables.map((table) => removalScript(table.config)).join(''));
    },
  };
}

/** nft 1.0.6 complains with `internal:0:0-0` of rules it wrote itself when it reads them back; that is never the reason. */
function firstLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('internal:0:0-0'));
  return lines.slice(0, 4).join('\n').slice(0, 1000);
}
