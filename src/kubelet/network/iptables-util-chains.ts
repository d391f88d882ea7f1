/**
 * Keeps iptables chains that other programs on a node rely on: a hint which of the two iptables variants the node
 * uses, and a rule against packets from outside to the loopback range. They are restored after a flush of the tables,
 * which is detected by a missing canary chain. Upstream: pkg/kubelet/kubelet_network_linux.go and Monitor in
 * pkg/util/iptables.
 *
 * The chains stay after the end, as upstream. A node without iptables is logged once.
 */
import { onAbort } from '../../base/abort.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Exec } from '../../platform/exec.ts';
import type { Log } from '../../platform/log.ts';

const CHECK_PERIOD_MS = 60_000;
const CANARY = 'KUBE-KUBELET-CANARY';
const HINT = 'KUBE-IPTABLES-HINT';
const FIREWALL = 'KUBE-FIREWALL';
const CANARY_TABLES = ['mangle', 'nat', 'filter'];
/** Waits for iptables' lock up to 5 seconds, in steps of 100,000 microseconds. */
const WAIT = ['-w', '5', '-W', '100000'];
const FOREIGN_LOOPBACK = [
  ...['-m', 'comment', '--comment', 'block incoming localnet connections'],
  ...['-d', '127.0.0.0/8', '!', '-s', '127.0.0.0/8'],
  ...['-m', 'conntrack', '!', '--ctstate', 'RELATED,ESTABLISHED,DNAT', '-j', 'DROP'],
];

export interface IptablesUtilChainsDeps {
  readonly clock: Clock;
  readonly exec: Pick<Exec, 'run'>;
  readonly log: Log;
}

/** Creates the chains now and restores them until the signal. Never rejects; failures are logged. */
export function startIptablesUtilChains(deps: IptablesUtilChainsDeps, signal: AbortSignal): void {
  const log = deps.log.child('iptables');
  for (const program of ['iptables', 'ip6tables'] as const) {
    let failing = '';
    const keep = async (): Promise<void> => {
      try {
        await keepChains(deps, program);
        failing = '';
      } catch (error) {
        const text = errorMessage(error);
        if (signal.aborted || text === failing) return;
        failing = text;
        log.warn('Failed to ensure the chains other components rely on', { program, err: error });
      }
    };
    let turn = keep();
    const stop = deps.clock.setTicker(CHECK_PERIOD_MS, () => {
      turn = turn.then(keep);
    });
    onAbort(signal, stop);
  }
}

/** Creates the chains and rules that are missing. @throws Error with the program's output */
async function keepChains({ exec }: IptablesUtilChainsDeps, program: 'iptables' | 'ip6tables'): Promise<void> {
  const run = (args: readonly string[]) => exec.run(program, [...WAIT, ...args]);
  const must = async (args: readonly string[]): Promise<void> => {
    const { exitCode, stderr } = await run(args);
    if (exitCode !== 0) throw new Error(`${program} ${args.join(' ')}: exit status ${exitCode}: ${stderr.trim()}`);
  };
  const hasChain = async (table: string, chain: string): Promise<boolean> =>
    (await run(['-t', table, '-S', chain])).exitCode === 0;
  const ensureChain = async (table: string, chain: string): Promise<void> => {
    if (!(await hasChain(table, chain))) await must(['-t', table, '-N', chain]);
  };
  const ensureRule = async (where: '-A' | '-I', rule: readonly string[]): Promise<void> => {
    if ((await run(['-t', 'filter', '-C', ...rule])).exitCode !== 0) await must(['-t', 'filter', where, ...rule]);
  };
  const canaries = await Promise.all(CANARY_TABLES.map((table) => hasChain(table, CANARY)));
  if (canaries.every((present) => present)) return;
  await ensureChain('mangle', HINT);
  if (program === 'iptables') {
    await ensureChain('filter', FIREWALL);
    await ensureRule('-A', [FIREWALL, ...FOREIGN_LOOPBACK]);
    for (const from of ['OUTPUT', 'INPUT']) await ensureRule('-I', [from, '-j', FIREWALL]);
  }
  // Canaries are created last: if any step fails, they are missing and everything is retried.
  for (const table of CANARY_TABLES) await ensureChain(table, CANARY);
}
