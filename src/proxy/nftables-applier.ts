/** Writes the rule books into the kernel: a transaction is one `nft` run, with changes or with whole tables. */
import { stepByStep } from '../base/steps.ts';
import type { ExecResult } from '../platform/exec.ts';
import { createApplyLoop, type WriteScope } from './apply-loop.ts';
import { changeScript, removalScript, rewriteScript, type TableConfig } from './nft-script.ts';
import { createProxyMetrics } from './proxy-metrics.ts';
import type { ApplierDeps, RuleApplier } from './rule-applier.ts';
import type { RuleBook } from './rule-book.ts';

/** A table and its desired content. */
export interface RuleTable {
  readonly config: TableConfig;
  readonly book: RuleBook;
}

export interface ApplierConfig {
  readonly tables: readonly RuleTable[];
  /** Prefix of each command, such as `ip netns exec NAME`. */
  readonly commandPrefix?: readonly string[];
  /** Brings the books up to date; called before each transaction. */
  prepare(): Promise<void>;
  /** Called after a transaction with everything that `prepare` saw. */
  onApplied(): void;
}

const MIN_GAP_MS = 10;

/** Nothing is written before `run`. */
export function createNftablesApplier(deps: ApplierDeps, config: ApplierConfig): RuleApplier {
  const { clock } = deps;
  const metrics = createProxyMetrics(deps.metrics);

  const nft = (input: string): Promise<ExecResult> => {
    const [file, ...args] = [...(config.commandPrefix ?? []), 'nft', '-f', '-'];
    return deps.exec.run(file as string, args, { input });
  };

  /** One transaction over all tables. */
  async function apply({ whole, fromScratch }: WriteScope): Promise<void> {
    await config.prepare();
    const plans = config.tables.map(({ book, config: table }) => {
      const all = whole ? book.takeAll() : undefined;
      const changes = all ?? book.takeChanges();
      return {
        book,
        changes,
        steps: all === undefined ? changeScript(table, changes) : rewriteScript(table, all, fromScratch),
      };
    });
    let script = '';
    for (const { steps } of plans) {
      const part = stepByStep(steps, () => clock.yield());
      script += typeof part === 'string' ? part : await part;
    }
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

  return {
    ...createApplyLoop(deps, { metrics, minGapMs: MIN_GAP_MS, apply, onApplied: config.onApplied }),
    async remove() {
      await transact(config.tables.map((table) => removalScript(table.config)).join(''));
    },
  };
}

/** nft 1.0.6 prints `internal:0:0-0` errors about its own rules when it reads them back; they are never the cause. */
function firstLines(text: string): string {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('internal:0:0-0'));
  return lines.slice(0, 4).join('\n').slice(0, 1000);
}
