/**
 * Writes the rules of the iptables mode into the kernel by one iptables-restore, at most ten times a second. The
 * jumps from the kernel's chains are checked each minute.
 */
import type { Exec } from '../../platform/exec.ts';
import { runOrThrow } from '../../platform/run-or-throw.ts';
import { createApplyLoop, type WriteScope } from '../apply-loop.ts';
import { createProxyMetrics } from '../proxy-metrics.ts';
import type { ApplierDeps, RuleApplier } from '../rule-applier.ts';
import { iptablesRemoval, JUMPS, OWN_CHAIN } from './fixed-chains.ts';
import { type IptablesConfig, iptablesRules, type IptablesState } from './iptables-rules.ts';

export interface IptablesApplierConfig {
  readonly tables: readonly { readonly config: IptablesConfig; wanted(): Omit<IptablesState, 'presentChains'> }[];
  readonly commandPrefix?: readonly string[];
  prepare(): Promise<void>;
  onApplied(): void;
}

const MIN_GAP_MS = 100;

/** Nothing is written before `run`. */
export function createIptablesApplier(deps: ApplierDeps, config: IptablesApplierConfig): RuleApplier {
  const { clock, exec } = deps;
  const metrics = createProxyMetrics(deps.metrics, 'iptables');
  const programs = config.tables.map((table) => ({
    table,
    run: createRunIptables(exec, table.config.family, config.commandPrefix),
  }));

  async function apply({ whole }: WriteScope): Promise<void> {
    await config.prepare();
    const startMs = clock.monotonicMs();
    for (const { table, run } of programs) {
      const presentChains = chainsOf(await run('-save', ['-t', 'nat']));
      await run('-restore', ['--noflush'], iptablesRules({ ...table.wanted(), presentChains }, table.config));
      if (whole) await ensureJumps(run);
    }
    metrics.synced((clock.monotonicMs() - startMs) / 1000, clock.nowMs() / 1000);
  }

  return {
    ...createApplyLoop(deps, { metrics, minGapMs: MIN_GAP_MS, apply, onApplied: config.onApplied }),
    async remove() {
      for (const { run } of programs) {
        for (const [table, chain, ...rule] of JUMPS)
          await run('', ['-w', '-t', table, '-D', chain, ...rule]).catch(() => undefined); // missing: nothing to remove
        const present = chainsOf(await run('-save', ['-t', 'nat']));
        await run('-restore', ['--noflush'], iptablesRemoval(present.filter((chain) => OWN_CHAIN.test(chain))));
      }
    },
  };
}

type RunIptables = (suffix: '' | '-save' | '-restore', args: readonly string[], input?: string) => Promise<string>;

function createRunIptables(exec: Exec, family: 4 | 6, prefix: readonly string[] = []): RunIptables {
  return async (suffix, args, input) => {
    const program = `${family === 4 ? 'iptables' : 'ip6tables'}${suffix}`;
    return await runOrThrow(exec, [...prefix, program, ...args], { input, name: program });
  };
}

function chainsOf(saved: string): string[] {
  return [...saved.matchAll(/^:(KUBE-\S+) /gm)].map(([, chain = '']) => chain);
}

async function ensureJumps(run: RunIptables): Promise<void> {
  for (const [table, chain, ...rule] of JUMPS) {
    const there = await run('', ['-w', '-t', table, '-C', chain, ...rule]).then(
      () => true,
      () => false,
    );
    if (!there) await run('', ['-w', '-t', table, '-I', chain, ...rule]);
  }
}
