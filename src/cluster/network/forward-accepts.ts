/**
 * Hosts are not ours: Docker, ufw and others drop forwarded packets in chains of their own, and an accept in our table
 * cannot overrule them. Where the iptables FORWARD chain drops, two tagged accepts for the pod bridge are put before it;
 * other dropping chains are named in the log, since only their owner can open them.
 */
import { rangeFamily, rangesOf } from '../../base/cidr.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance.ts';

type Deps = Pick<Platform, 'exec' | 'log'>;

const tag = (instance: Instance): string => `keelson-${instance.hash}`;

function acceptRules(instance: Instance): readonly (readonly string[])[] {
  const comment = ['-m', 'comment', '--comment', tag(instance), '-j', 'ACCEPT'];
  return [
    ['FORWARD', '-i', instance.bridge, ...comment],
    ['FORWARD', '-o', instance.bridge, ...comment],
  ];
}

/** Inserts the accepts where they are needed and missing. */
export async function insertForwardAccepts(deps: Deps, instance: Instance): Promise<void> {
  for (const program of programsOf(instance)) {
    const listing = await iptables(deps, program, ['-S', 'FORWARD']);
    if (listing === undefined || !dropsForwarded(listing)) continue;
    for (const rule of acceptRules(instance))
      if ((await iptables(deps, program, ['-C', ...rule])) === undefined)
        await iptables(deps, program, ['-I', ...rule]);
  }
  for (const chain of await foreignDroppingChains(deps)) {
    deps.log.warn(
      'a firewall chain of this machine drops forwarded packets; pods may not reach each other until it accepts them',
      { chain, bridge: instance.bridge },
    );
  }
}

/** Removes what was inserted. */
export async function removeForwardAccepts(deps: Deps, instance: Instance): Promise<void> {
  for (const program of programsOf(instance))
    for (const rule of acceptRules(instance))
      while ((await iptables(deps, program, ['-C', ...rule])) !== undefined)
        await iptables(deps, program, ['-D', ...rule]);
}

/** One per family of the pods. */
function programsOf({ clusterCidr }: Instance): readonly string[] {
  return rangesOf(clusterCidr).map((range) => (rangeFamily(range) === 6 ? 'ip6tables' : 'iptables'));
}

/** Whether the listing of a chain (`iptables -S`) drops by policy or by a rule. Pure. */
export function dropsForwarded(listing: string): boolean {
  return /^-P FORWARD DROP$/m.test(listing) || /^-A FORWARD .*-j (DROP|REJECT|DOCKER)/m.test(listing);
}

/** The output; undefined when it failed or there is no iptables. */
async function iptables({ exec }: Deps, program: string, args: readonly string[]): Promise<string | undefined> {
  const result = await exec.run(program, ['-w', ...args]).catch(() => undefined);
  return result === undefined || result.exitCode !== 0 ? undefined : result.stdout;
}

interface NftChain {
  readonly chain?: {
    readonly family: string;
    readonly table: string;
    readonly name: string;
    readonly hook?: string;
    readonly policy?: string;
  };
}

/** nftables base chains at the forward hook with policy drop, beside iptables' own. */
async function foreignDroppingChains({ exec }: Deps): Promise<string[]> {
  const result = await exec.run('nft', ['-j', 'list', 'chains']).catch(() => undefined);
  if (result === undefined || result.exitCode !== 0 || result.stdout === '') return [];
  const { nftables } = JSON.parse(result.stdout) as { nftables: readonly NftChain[] };
  return nftables
    .flatMap((entry) => (entry.chain === undefined ? [] : [entry.chain]))
    .filter((c) => c.hook === 'forward' && c.policy === 'drop' && !(c.table === 'filter' && c.name === 'FORWARD'))
    .map((c) => `${c.family} ${c.table} ${c.name}`);
}
