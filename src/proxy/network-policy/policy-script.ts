/**
 * The texts for `nft -f -` of the policy table: the whole of it, and changes. Each is one transaction. Pure. The layout:
 *
 * - `check-egress`, then `check-ingress` (forward, after service addresses became pods'): new connections of pods with
 *   policies go to a chain of their own, which jumps through the policies' chains and drops what none accepted. What comes
 *   from or goes to this machine itself is not forwarded, and so always allowed, as upstream demands for probes.
 * - Pods of this node that are not known yet are refused while there is any policy: one might be meant for them.
 * - Chains are named after their content: changes add chains and elements, never rewrite a chain. What is no longer used
 *   goes with the next whole rewrite.
 */
import { removalScript, tableName } from '../nft-script.ts';
import type { PolicyState } from './policy-book.ts';

export interface PolicyTableConfig {
  readonly family: 4 | 6;
  readonly name: string;
  /** Addresses of this node's pods. Unknown yet: undefined. */
  readonly podCidr?: string;
}

const ELEMENTS_PER_STATEMENT = 2_000;

/** Replaces the whole table, or removes it when there is no policy. */
export function policyRewriteScript(config: PolicyTableConfig, state: PolicyState): string {
  const removal = removalScript(config);
  if (state.empty) return removal;
  const nothing: PolicyState = {
    empty: true,
    sets: new Map(),
    chains: new Map(),
    verdicts: { ingress: new Map(), egress: new Map() },
    known: new Set(),
  };
  return `${removal}${frame(config)}${policyChangeScript(config, nothing, state)}`;
}

/** From one state to another; '' when they are alike. */
export function policyChangeScript(config: PolicyTableConfig, before: PolicyState, after: PolicyState): string {
  const table = tableName(config);
  const lines: string[] = [];
  for (const [name, { named }] of after.sets)
    if (!before.sets.has(name)) lines.push(`add set ${table} ${name} { type ${setType(config, named)}; }`);
  const chains = [...after.chains].filter(([name]) => !before.chains.has(name));
  for (const [name] of chains) lines.push(`add chain ${table} ${name}`, `flush chain ${table} ${name}`);
  for (const [name, rules] of chains) for (const rule of rules) lines.push(`add rule ${table} ${name} ${rule}`);
  for (const [name, { elements }] of after.sets)
    pushDifference({ table, set: name, before: before.sets.get(name)?.elements ?? new Set(), after: elements }, lines);
  for (const side of ['ingress', 'egress'] as const)
    pushVerdicts({ table, map: `${side}-pods`, before: before.verdicts[side], after: after.verdicts[side] }, lines);
  pushDifference({ table, set: 'known-pods', before: before.known, after: after.known }, lines);
  pushDifference({ table, set: 'itself', before: pairs(before), after: pairs(after) }, lines);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** A pod always reaches itself, even through a service. */
function pairs({ verdicts }: PolicyState): Set<string> {
  const isolated = new Set([...verdicts.ingress.keys(), ...verdicts.egress.keys()]);
  return new Set([...isolated].map((address) => `${address} . ${address}`));
}

function setType({ family }: PolicyTableConfig, named: boolean): string {
  const address = family === 4 ? 'ipv4_addr' : 'ipv6_addr';
  return named ? `${address} . inet_proto . inet_service` : address;
}

function frame(config: PolicyTableConfig): string {
  const ip = config.family === 4 ? 'ip' : 'ip6';
  const address = setType(config, false);
  // Where a bridge passes IPv6 packets on through these rules, pods of one node look for each other through them.
  const neighbours = config.family === 4 ? '' : 'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept';
  const unknown = (side: 'saddr' | 'daddr'): string =>
    config.podCidr === undefined ? '' : `${ip} ${side} ${config.podCidr} ${ip} ${side} != @known-pods drop`;
  const chain = (
    side: 'ingress' | 'egress',
    { priority, field }: { priority: number; field: 'saddr' | 'daddr' },
  ): string =>
    `chain check-${side} {
    type filter hook forward priority ${priority}; policy accept;
    ct state established,related accept
    ${neighbours}
    ${ip} saddr . ${ip} daddr @itself accept
    ${unknown(field)}
    ${ip} ${field} vmap @${side}-pods
  }`;
  return `table ${tableName(config)} {
  set known-pods { type ${address}; }
  set itself { type ${address} . ${address}; }
  map ingress-pods { type ${address} : verdict; }
  map egress-pods { type ${address} : verdict; }
  ${chain('egress', { priority: -7, field: 'saddr' })}
  ${chain('ingress', { priority: -6, field: 'daddr' })}
}
`;
}

interface Difference {
  readonly table: string;
  readonly set: string;
  readonly before: ReadonlySet<string>;
  readonly after: ReadonlySet<string>;
}

function pushDifference({ table, set, before, after }: Difference, into: string[]): void {
  const statement = (verb: string, keys: readonly string[]): void => {
    for (let at = 0; at < keys.length; at += ELEMENTS_PER_STATEMENT)
      into.push(`${verb} element ${table} ${set} { ${keys.slice(at, at + ELEMENTS_PER_STATEMENT).join(', ')} }`);
  };
  statement(
    'delete',
    [...before].filter((key) => !after.has(key)),
  );
  statement(
    'add',
    [...after].filter((key) => !before.has(key)),
  );
}

interface Verdicts {
  readonly table: string;
  readonly map: string;
  readonly before: ReadonlyMap<string, string>;
  readonly after: ReadonlyMap<string, string>;
}

function pushVerdicts({ table, map, before, after }: Verdicts, into: string[]): void {
  const gone = [...before].filter(([address, chain]) => after.get(address) !== chain).map(([address]) => address);
  const come = [...after].filter(([address, chain]) => before.get(address) !== chain);
  if (gone.length > 0) into.push(`delete element ${table} ${map} { ${gone.join(', ')} }`);
  if (come.length > 0)
    into.push(
      `add element ${table} ${map} { ${come.map(([address, chain]) => `${address} : goto ${chain}`).join(', ')} }`,
    );
}
