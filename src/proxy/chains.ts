/**
 * The chains that choose an endpoint. There is one for each number of endpoints (and policy, affinity, masquerading),
 * which all services with the same values share, so a change of endpoints changes map elements and rarely a chain.
 * Pure.
 *
 * A chain's name contains all these values, so an existing chain never needs rewriting.
 */

/** What a chain chooses from, and how. */
export interface ChainTarget {
  /**
   * By destination address and port (services, host ports of one address), or by port alone (node ports of services, host
   * ports of pods).
   */
  readonly scope: 'address' | 'node' | 'host' | 'host-address';
  readonly list: 'cluster' | 'local';
  readonly count: number;
  /** 0: no session affinity. */
  readonly affinitySeconds: number;
  /** Gives the connection this node's address as its source. */
  readonly masquerade: boolean;
}

/** A chain: its rules, and the chains these go to. */
export interface Chain {
  readonly name: string;
  readonly rules: readonly string[];
  readonly needs: readonly Chain[];
}

export interface ChainContext {
  readonly family: 4 | 6;
  readonly clusterCidr: string;
  /** Upper 16 bits: this instance's mark for masquerading. The lower 16 bits are a slot. */
  readonly mark: number;
}

/** First slot of the endpoints on this node, beyond those of the whole cluster: slots have 16 bits and start at 1. */
const LOCAL_SLOT = 0x8000;
/** Name of the table's dynamic map from client to slot (IPv4). */
export const AFFINITY_MAP = 'affinity';

/** Maps from a packet's destination and slot to an endpoint. */
export const ENDPOINT_MAPS = {
  address: 'endpoints',
  node: 'nodeport-endpoints',
  host: 'hostport-endpoints',
  'host-address': 'hostaddress-endpoints',
} as const;

/** The mark for a slot (from 0) of a target. */
export function slotMark(target: ChainTarget, slot: number, mark: number): number {
  return (target.masquerade ? mark : 0) + (target.list === 'local' ? LOCAL_SLOT : 0) + slot + 1;
}

/** A cache of chains, as thousands of services share few. */
const made = new WeakMap<ChainContext, Map<string, Chain>>();

export function endpointChain(target: ChainTarget, context: ChainContext): Chain {
  let existing = made.get(context);
  if (existing === undefined) made.set(context, (existing = new Map()));
  const name = pickName(target);
  let chain = existing.get(name);
  if (chain === undefined) existing.set(name, (chain = { name, needs: [], rules: pickRules(target, context, name) }));
  return chain;
}

function pickName(target: ChainTarget): string {
  return [
    target.scope === 'address' ? 'pick' : target.scope,
    ...(target.list === 'local' ? ['local'] : []),
    String(target.count),
    ...(target.affinitySeconds > 0 ? ['sticky', String(target.affinitySeconds)] : []),
    ...(target.masquerade ? ['masq'] : []),
  ].join('-');
}

/** The beginning of the endpoint maps' keys: the packet's destination. */
function destination(scope: ChainTarget['scope'], ip: string): string {
  return `${scope === 'address' || scope === 'host-address' ? `${ip} daddr . ` : ''}meta l4proto . th dport`;
}

function ipOf(family: 4 | 6): 'ip' | 'ip6' {
  return family === 4 ? 'ip' : 'ip6';
}

/**
 * A random slot, or with affinity the client's last one, which is kept again for the timeout. The slot is stored in
 * the mark: nft 1.0.6 cannot read back a rule with `numgen` in a concatenation, and then refuses to add others.
 */
function pickRules(target: ChainTarget, { family, mark }: ChainContext, chain: string): string[] {
  const ip = ipOf(family);
  const client = clientKey(family);
  const affinity = family === 4 ? AFFINITY_MAP : affinityMapOf(chain);
  const map = ENDPOINT_MAPS[target.scope];
  const sticky = [
    `meta mark set ${client} map @${affinity}`,
    `update @${affinity} { ${client} timeout ${target.affinitySeconds}s : meta mark }`,
  ];
  return [
    `meta mark set numgen random mod ${target.count} offset ${slotMark(target, 0, mark)}`,
    ...(target.affinitySeconds > 0 ? sticky : []),
    `dnat ${ip} to ${destination(target.scope, ip)} . meta mark map @${map}`,
  ];
}

/**
 * The key of a client's affinity. Keys of more than 16 bytes abort an `update` in nft 1.0.6: for IPv6 the key is only
 * the client's address, and each chain has its own map, whose slots are valid for all services with the chain.
 */
function clientKey(family: 4 | 6): string {
  return family === 4 ? 'ip saddr . ip daddr . meta l4proto . th dport' : 'ip6 saddr';
}

/** The type of {@link clientKey} in a map's declaration. */
export function clientType(family: 4 | 6): string {
  return family === 4 ? 'ipv4_addr . ipv4_addr . inet_proto . inet_service' : 'ipv6_addr';
}

/** Name of the affinity map that belongs to one chain (IPv6). */
export function affinityMapOf(chain: string): string {
  return `${AFFINITY_MAP}-${chain}`;
}

/**
 * External traffic with policy Local: only endpoints of this node, with the client's address kept. Traffic that comes from
 * pods or from this node itself takes any endpoint, as upstream does. Without endpoints here the packet is dropped.
 */
export function localPolicyChain(cluster: ChainTarget, localCount: number, context: ChainContext): Chain {
  const ip = ipOf(context.family);
  const fromPods = endpointChain(cluster, context);
  const fromHere = endpointChain({ ...cluster, masquerade: true }, context);
  const local = localCount === 0 ? undefined : endpointChain({ ...cluster, list: 'local', count: localCount }, context);
  const name = [
    'policy',
    cluster.scope,
    String(cluster.count),
    String(localCount),
    ...(cluster.affinitySeconds > 0 ? ['sticky', String(cluster.affinitySeconds)] : []),
  ].join('-');
  return {
    name,
    rules: [
      `${ip} saddr ${context.clusterCidr} goto ${fromPods.name}`,
      `fib saddr type local goto ${fromHere.name}`,
      local === undefined ? 'drop' : `goto ${local.name}`,
    ],
    needs: [fromPods, fromHere, ...(local === undefined ? [] : [local])],
  };
}
