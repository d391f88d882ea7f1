/**
 * The texts for `nft -f -`: the table with its fixed maps, sets and chains, a whole rewrite, and changes. Each text is one
 * transaction, made in steps: a service has up to some 200,000 elements. Pure. The layout:
 *
 * - `check-*` (before DNAT): new connections to service ports without endpoints are refused (or dropped by policy), load
 *   balancer addresses with source ranges are guarded. Addresses of this host without a rule are left alone: cluster DNS
 *   listens on one of the service range.
 * - `nat-*`: destination → chain that picks an endpoint (chains.ts).
 * - `check-forward`, `check-output-late` (after DNAT): what is still meant for the service range is refused.
 * - `nat-postrouting`: hairpin, traffic from outside the cluster to cluster addresses, what comes from a loopback address, and
 *   marked connections take this node's address.
 */
import type { Steps } from '../base/steps.ts';
import { affinityMapOf, AFFINITY_MAP, clientType, type Chain } from './chains.ts';
import type { Element, SetName } from './desired-rules.ts';
import type { Changes } from './rule-book.ts';

/** The table's name, family and ranges. */
export interface TableConfig {
  readonly family: 4 | 6;
  readonly name: string;
  readonly clusterCidr: string;
  readonly serviceCidr: string;
  readonly mark: number;
  /** Node ports answer on this host's addresses in the set `nodeport-addresses` alone. */
  readonly nodePortsRestricted?: boolean;
  /** Host ports of loopback addresses are served: see loopback-host-ports.ts. */
  readonly loopbackHostPorts?: boolean;
}

/** Elements per statement, which limits the size of nft's messages and errors. */
const ELEMENTS_PER_STATEMENT = 2_000;
/** Elements and chains written in one step. */
const ELEMENTS_PER_STEP = 5_000;

/** The family and name by which statements refer to the table. */
export function tableName(config: Pick<TableConfig, 'family' | 'name'>): string {
  return `${config.family === 4 ? 'ip' : 'ip6'} ${config.name}`;
}

/** Removes the table; no error when there is none. */
export function removalScript(config: Pick<TableConfig, 'family' | 'name'>): string {
  return `add table ${tableName(config)}\ndelete table ${tableName(config)}\n`;
}

/**
 * Rewrites the table. Clients' affinities are kept unless `fromScratch`, which also replaces a table of another
 * layout.
 */
export function* rewriteScript(
  config: TableConfig,
  all: Changes & { readonly staleChains: readonly string[] },
  fromScratch: boolean,
): Steps<string> {
  const table = tableName(config);
  const reset = fromScratch ? [`add table ${table}`, `delete table ${table}`] : [];
  const lines = [...reset, `table ${table} {`, ...declarations(config), ...baseChainDeclarations(), '}'];
  if (!fromScratch) {
    lines.push(`flush table ${table}`);
    for (const set of Object.keys(setTypes(config))) lines.push(`flush ${isMap(set) ? 'map' : 'set'} ${table} ${set}`);
    // Added first, as another program may have deleted it or the whole table.
    for (const chain of all.staleChains) lines.push(`add chain ${table} ${chain}`, `delete chain ${table} ${chain}`);
  }
  lines.push(`table ${table} {`, ...fixedRules(config), '}');
  yield* pushChains(config, all.chains, lines);
  yield* pushElements({ table, verb: 'add' }, all.adds, lines);
  return `${lines.join('\n')}\n`;
}

/** Applies changes to a table with the programmed content. */
export function* changeScript(config: TableConfig, changes: Changes): Steps<string> {
  const table = tableName(config);
  const lines: string[] = [];
  yield* pushChains(config, changes.chains, lines);
  yield* pushElements({ table, verb: 'delete' }, changes.deletes, lines);
  yield* pushElements({ table, verb: 'add' }, changes.adds, lines);
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** `type`, never `typeof`: nft 1.0.6 cannot read back rules that look up maps of the latter kind. */
function setTypes({ family }: TableConfig): Readonly<Record<SetName, string>> {
  const address = family === 4 ? 'ipv4_addr' : 'ipv6_addr';
  const port = 'inet_proto . inet_service';
  const target = `${address} . inet_service`;
  return {
    services: `type ${address} . ${port} : verdict`,
    nodeports: `type ${port} : verdict`,
    endpoints: `type ${address} . ${port} . mark : ${target}`,
    'nodeport-endpoints': `type ${port} . mark : ${target}`,
    'nodeport-addresses': `type ${address}\n flags interval`,
    hostports: `type ${port} : verdict`,
    'hostport-endpoints': `type ${port} . mark : ${target}`,
    hostaddresses: `type ${address} . ${port} : verdict`,
    'hostaddress-endpoints': `type ${address} . ${port} . mark : ${target}`,
    'no-endpoints': `type ${address} . ${port} : verdict`,
    'no-endpoint-nodeports': `type ${port} : verdict`,
    firewalled: `type ${address} . ${port}`,
    'allowed-sources': `type ${address} . ${port} . ${address}\n flags interval`,
    hairpin: `type ${address} . ${address}`,
  };
}

const SETS: ReadonlySet<string> = new Set(['firewalled', 'allowed-sources', 'hairpin', 'nodeport-addresses']);

function isMap(set: string): boolean {
  return !SETS.has(set);
}

function declarations(config: TableConfig): string[] {
  const sets = Object.entries(setTypes(config)).map(
    ([name, type]) => `${isMap(name) ? 'map' : 'set'} ${name} {\n ${type}\n}`,
  );
  return config.family === 4 ? [...sets, affinityMap(AFFINITY_MAP, 4)] : sets;
}

function affinityMap(name: string, family: 4 | 6): string {
  return `map ${name} {\n type ${clientType(family)} : mark\n size 65536\n flags dynamic,timeout\n timeout 3h\n}`;
}

const BASE_CHAINS: Readonly<Record<string, string>> = {
  'check-prerouting': 'type filter hook prerouting priority -110',
  'check-output': 'type filter hook output priority -110',
  'nat-prerouting': 'type nat hook prerouting priority -100',
  'nat-output': 'type nat hook output priority -100',
  'check-forward': 'type filter hook forward priority -10',
  'check-output-late': 'type filter hook output priority -90',
  'nat-postrouting': 'type nat hook postrouting priority 100',
};

function baseChainDeclarations(): string[] {
  const base = Object.entries(BASE_CHAINS).map(([name, hook]) => `chain ${name} {\n ${hook}; policy accept;\n}`);
  return [...base, ...['refuse', 'check-service', 'pick-service'].map((name) => `chain ${name} {\n}`)];
}

function fixedRules({ family, clusterCidr, serviceCidr, mark, nodePortsRestricted }: TableConfig): string[] {
  const ip = family === 4 ? 'ip' : 'ip6';
  const loopback = family === 4 ? '127.0.0.0/8' : '::1';
  const service = `${ip} daddr . meta l4proto . th dport`;
  const local = `fib daddr type local ${ip} daddr != ${loopback}`;
  const nodePort = `${local}${nodePortsRestricted === true ? ` ${ip} daddr @nodeport-addresses` : ''} meta l4proto . th dport`;
  // Cluster DNS listens on a local address of the service range, which no pod's port may take.
  const beyondServices = `${ip} daddr != ${serviceCidr}`;
  const hostAddress = `fib daddr type local ${beyondServices} ${service}`;
  const hostPort = `${local} ${beyondServices} meta l4proto . th dport`;
  const chain = (name: string, ...rules: string[]): string => `chain ${name} {\n ${rules.join('\n ')}\n}`;
  return [
    chain(
      'refuse',
      'meta l4proto tcp reject with tcp reset',
      `reject with icmp${family === 4 ? '' : 'v6'} port-unreachable`,
    ),
    chain(
      'check-service',
      `${ip} daddr ${serviceCidr} fib daddr type local return`,
      `${service} @firewalled ${service} . ${ip} saddr != @allowed-sources drop`,
      `${service} vmap @no-endpoints`,
      `${nodePort} vmap @no-endpoint-nodeports`,
    ),
    chain('check-prerouting', 'ct state new jump check-service'),
    chain('check-output', 'ct state new jump check-service'),
    chain(
      'pick-service',
      `${service} vmap @services`,
      `${nodePort} vmap @nodeports`,
      `${hostAddress} vmap @hostaddresses`,
      `${hostPort} vmap @hostports`,
    ),
    chain('nat-prerouting', 'jump pick-service'),
    chain('nat-output', 'jump pick-service'),
    chain('check-forward', `${ip} daddr ${serviceCidr} goto refuse`),
    chain('check-output-late', `${ip} daddr ${serviceCidr} fib daddr type != local goto refuse`),
    chain(
      'nat-postrouting',
      `ct status dnat ${ip} saddr . ${ip} daddr @hairpin masquerade fully-random`,
      `ct status dnat ct original ${ip} daddr ${serviceCidr} ct original ${ip} saddr != ${clusterCidr} masquerade fully-random`,
      // A pod cannot reply to a loopback address. Traffic that stays on the loopback device is left alone.
      ...(family === 4 ? [`ct status dnat ip saddr ${loopback} oifname != "lo" masquerade fully-random`] : []),
      `ct status dnat meta mark and 0xffff0000 == 0x${mark.toString(16)} masquerade fully-random`,
    ),
  ];
}

/**
 * Chains are added without rules first, so that they may refer to each other, and flushed, as another program may
 * have written into them.
 */
function* pushChains(config: TableConfig, chains: readonly Chain[], into: string[]): Steps<void> {
  if (chains.length === 0) return;
  const table = tableName(config);
  const sticky =
    config.family === 6 ? chains.filter((c) => c.rules.some((rule) => rule.includes(`@${affinityMapOf(c.name)}`))) : [];
  into.push(`table ${table} {`);
  for (const { name } of sticky) into.push(affinityMap(affinityMapOf(name), 6));
  for (const { name } of chains) into.push(`chain ${name} {\n}`);
  into.push('}');
  for (const chain of chains) into.push(`flush chain ${table} ${chain.name}`);
  into.push(`table ${table} {`);
  for (const [at, { name, rules }] of chains.entries()) {
    into.push(`chain ${name} {\n ${rules.join('\n ')}\n}`);
    if (at % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield;
  }
  into.push('}');
}

function* pushElements(
  what: { readonly table: string; readonly verb: 'add' | 'delete' },
  elements: readonly Element[],
  into: string[],
): Steps<void> {
  const bySet = new Map<string, string[]>();
  for (const [at, { set, key, value }] of elements.entries()) {
    let list = bySet.get(set);
    if (list === undefined) bySet.set(set, (list = []));
    list.push(value === '' || what.verb === 'delete' ? key : `${key} : ${value}`);
    if (at % ELEMENTS_PER_STEP === ELEMENTS_PER_STEP - 1) yield;
  }
  for (const [set, texts] of bySet) {
    for (let at = 0; at < texts.length; at += ELEMENTS_PER_STATEMENT) {
      into.push(
        `${what.verb} element ${what.table} ${set} { ${texts.slice(at, at + ELEMENTS_PER_STATEMENT).join(', ')} }`,
      );
      if (at > 0) yield;
    }
  }
}
