/**
 * Docker, ufw and others drop forwarded packets in chains of their own, and an accept in Keelson's table cannot
 * overrule those. Where the iptables FORWARD chain drops, tagged accept rules are inserted before it, for pods and
 * for what the service rules forward to other machines; other dropping chains are only named in the log, since their
 * owner has to open them.
 */
import { rangeFamily, rangesOf } from '../../base/cidr.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Instance } from '../instance/instance.ts';

type Deps = Pick<Platform, 'exec' | 'log'>;

const tag = (instance: Instance): string => `keelson-${instance.hash}`;

function acceptRules(instance: Instance, range: string): readonly (readonly string[])[] {
  const { bridge, masqueradeMark } = instance;
  const matches = [
    ['-i', bridge],
    ['-o', bridge],
    ['-s', range],
    ['-d', range],
    // From outside through a node port to another node, and back: the service rules mark what they masquerade.
    ['-m', 'mark', '--mark', `0x${masqueradeMark.toString(16)}/0xffff0000`],
    ['-m', 'conntrack', '--ctstate', 'RELATED,ESTABLISHED'],
  ];
  return matches.map((match) => taggedAccept(instance, match));
}

const taggedAccept = (instance: Instance, match: readonly string[]): readonly string[] => [
  ...['FORWARD', ...match, '-m', 'comment', '--comment', tag(instance), '-j', 'ACCEPT'],
];

/** Inserts further accept rules of the same kind, for IPv4. */
export async function insertForwardRules(
  deps: Deps,
  instance: Instance,
  matches: readonly (readonly string[])[],
): Promise<void> {
  const listing = await iptables(deps, 'iptables', ['-S', 'FORWARD']);
  if (listing === undefined || !dropsForwarded(listing)) return;
  for (const match of matches) await insert(deps, 'iptables', taggedAccept(instance, match));
}

/** Removes what `insertForwardRules` inserted. */
export async function removeForwardRules(
  deps: Deps,
  instance: Instance,
  matches: readonly (readonly string[])[],
): Promise<void> {
  for (const match of matches) await removeAllOf(deps, 'iptables', taggedAccept(instance, match));
}

async function insert(deps: Deps, program: string, rule: readonly string[]): Promise<void> {
  if ((await iptables(deps, program, ['-C', ...rule])) === undefined) await iptables(deps, program, ['-I', ...rule]);
}

async function removeAllOf(deps: Deps, program: string, rule: readonly string[]): Promise<void> {
  while ((await iptables(deps, program, ['-C', ...rule])) !== undefined) await iptables(deps, program, ['-D', ...rule]);
}

/**
 * Inserts the accept rules where they are needed and missing. A chain that the user has to open is logged once per
 * `told`.
 */
export async function insertForwardAccepts(deps: Deps, instance: Instance, logged: Set<string>): Promise<void> {
  for (const { program, range } of programsOf(instance)) {
    const listing = await iptables(deps, program, ['-S', 'FORWARD']);
    if (listing === undefined || !dropsForwarded(listing)) continue;
    for (const rule of acceptRules(instance, range)) await insert(deps, program, rule);
  }
  for (const chain of await foreignDroppingChains(deps)) {
    if (logged.has(chain)) continue;
    logged.add(chain);
    deps.log.warn(
      'a firewall chain of this machine drops forwarded packets; pods may not reach each other until it accepts them',
      { chain, bridge: instance.bridge, pods: instance.clusterCidr },
    );
  }
}

/** Removes what was inserted. */
export async function removeForwardAccepts(deps: Deps, instance: Instance): Promise<void> {
  for (const { program, range } of programsOf(instance))
    for (const rule of acceptRules(instance, range)) await removeAllOf(deps, program, rule);
}

/** The iptables programs for the families of the pods' ranges. */
function programsOf({ clusterCidr }: Instance): readonly { readonly program: string; readonly range: string }[] {
  return rangesOf(clusterCidr).map((range) => ({
    program: rangeFamily(range) === 6 ? 'ip6tables' : 'iptables',
    range,
  }));
}

/** Whether the chain listed by `iptables -S` drops packets by its policy or by a rule. Pure. */
export function dropsForwarded(listing: string): boolean {
  return /^-P FORWARD DROP$/m.test(listing) || /^-A FORWARD .*-j (DROP|REJECT|DOCKER)/m.test(listing);
}

/** The standard output; undefined when the program failed or is not installed. */
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

/** Lists nftables base chains at the forward hook with policy drop, except those of iptables. */
export async function foreignDroppingChains({ exec }: Pick<Deps, 'exec'>): Promise<string[]> {
  const result = await exec.run('nft', ['-j', 'list', 'chains']).catch(() => undefined);
  if (result === undefined || result.exitCode !== 0 || result.stdout === '') return [];
  const { nftables } = JSON.parse(result.stdout) as { nftables: readonly NftChain[] };
  return nftables
    .flatMap((entry) => (entry.chain === undefined ? [] : [entry.chain]))
    .filter((c) => c.hook === 'forward' && c.policy === 'drop' && !(c.table === 'filter' && c.name === 'FORWARD'))
    .map((c) => `${c.family} ${c.table} ${c.name}`);
}
