/**
 * What one NetworkPolicy says, as nftables rules over sets of addresses. Pure. Names of sets and chains derive from what is
 * in them: equal selectors share a set, and a chain of a known name never needs rewriting.
 *
 * Upstream leaves network policies to CNI plugins; the meaning is that of the API's documentation.
 */
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../api/gen/networking-v1.ts';
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import { parseCidr } from '../../base/cidr.ts';

/** Which pods, anywhere in the cluster. */
export interface PodSelection {
  /** Of one namespace; absent: of those the selector names. */
  readonly namespace?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector: LabelSelector;
}

/** A set whose elements follow pods. */
export interface PodSet {
  readonly name: string;
  /** A pod that one of them selects is in. */
  readonly selections: readonly PodSelection[];
  /** With it the elements are address, protocol and number of this port. */
  readonly portName?: string;
}

/** The rules of one direction of a policy. */
export interface PolicyChain {
  readonly name: string;
  readonly rules: readonly string[];
  readonly sets: readonly PodSet[];
}

/** A policy, understood. */
export interface PolicyView {
  readonly selection: PodSelection;
  readonly ingress?: PolicyChain;
  readonly egress?: PolicyChain;
}

export interface PolicyContext {
  readonly family: 4 | 6;
  readonly sha256Hex: (text: string) => string;
}

type Direction = 'ingress' | 'egress';

export function readPolicy(policy: NetworkPolicy, context: PolicyContext): PolicyView {
  const { spec } = policy;
  const namespace = policy.metadata.namespace ?? '';
  const types = spec?.policyTypes ?? ['Ingress', ...(spec?.egress === undefined ? [] : ['Egress'])];
  const selection = { namespace, podSelector: spec?.podSelector ?? {} };
  const chain = (direction: Direction, rules: readonly Rule[]): PolicyChain =>
    chainOf(rules, { ...context, direction, namespace, selection });
  const ingress = (spec?.ingress ?? []).map(({ from, ports }) => ({ peers: from ?? [], ports: ports ?? [] }));
  const egress = (spec?.egress ?? []).map(({ to, ports }) => ({ peers: to ?? [], ports: ports ?? [] }));
  return {
    selection,
    ...(types.includes('Ingress') ? { ingress: chain('ingress', ingress) } : {}),
    ...(types.includes('Egress') ? { egress: chain('egress', egress) } : {}),
  };
}

interface Rule {
  readonly peers: readonly NetworkPolicyPeer[];
  readonly ports: readonly NetworkPolicyPort[];
}

interface Reading extends PolicyContext {
  readonly direction: Direction;
  readonly namespace: string;
  readonly selection: PodSelection;
}

function chainOf(rules: readonly Rule[], reading: Reading): PolicyChain {
  const sets = new Map<string, PodSet>();
  const lines = rules.flatMap((rule) => ruleLines(rule, reading, sets));
  const name = `${reading.direction}-${reading.sha256Hex(lines.join('\n')).slice(0, 16)}`;
  return { name, rules: lines, sets: [...sets.values()] };
}

/** One line per way in: every kind of peer with every kind of port. */
function ruleLines({ peers, ports }: Rule, reading: Reading, sets: Map<string, PodSet>): string[] {
  const selections = peers.flatMap((peer) => selectionOf(peer, reading.namespace) ?? []);
  const blocks = peers.flatMap((peer) => blockMatch(peer, reading) ?? []);
  const add = (wanted: Omit<PodSet, 'name'>): string => {
    const name = `pods-${reading.sha256Hex(JSON.stringify(wanted)).slice(0, 16)}`;
    sets.set(name, { name, ...wanted });
    return name;
  };
  const side = `${reading.family === 4 ? 'ip' : 'ip6'} ${reading.direction === 'ingress' ? 'saddr' : 'daddr'}`;
  const target = `${reading.family === 4 ? 'ip' : 'ip6'} daddr . meta l4proto . th dport`;
  const anybody = peers.length === 0 ? [''] : [];
  const from = [
    ...anybody,
    ...(selections.length === 0 ? [] : [`${side} @${add({ selections })} `]),
    ...blocks.map((block) => `${block} `),
  ];
  const numbered = ports.length === 0 ? [''] : portMatches(ports);
  const lines = from.flatMap((peer) => numbered.map((port) => `${peer}${port === '' ? '' : `${port} `}accept`));
  for (const { portName, protocol } of namedPorts(ports)) {
    // The name is the receiving pod's: of the selected one, or of each peer.
    const everyone: PodSelection = { namespaceSelector: {}, podSelector: {} };
    const receivers =
      reading.direction === 'ingress'
        ? [reading.selection]
        : [...selections, ...(blocks.length + anybody.length > 0 ? [everyone] : [])];
    if (receivers.length === 0) continue;
    const set = add({ selections: receivers, portName });
    for (const peer of from) lines.push(`${peer}meta l4proto ${protocol} ${target} @${set} accept`);
  }
  return lines;
}

function selectionOf(peer: NetworkPolicyPeer, namespace: string): PodSelection | undefined {
  if (peer.ipBlock !== undefined) return undefined;
  const podSelector = peer.podSelector ?? {};
  return peer.namespaceSelector === undefined
    ? { namespace, podSelector }
    : { namespaceSelector: peer.namespaceSelector, podSelector };
}

/** Undefined for blocks of the other family, and for other peers. */
function blockMatch({ ipBlock }: NetworkPolicyPeer, { family, direction }: Reading): string | undefined {
  if (ipBlock === undefined || parseCidr(ipBlock.cidr)?.family !== family) return undefined;
  const side = `${family === 4 ? 'ip' : 'ip6'} ${direction === 'ingress' ? 'saddr' : 'daddr'}`;
  const except = (ipBlock.except ?? []).filter((cidr) => parseCidr(cidr)?.family === family);
  return [`${side} ${ipBlock.cidr}`, ...except.map((cidr) => `${side} != ${cidr}`)].join(' ');
}

/** Ports by number, one match per protocol. */
function portMatches(ports: readonly NetworkPolicyPort[]): string[] {
  const byProtocol = new Map<string, string[]>();
  const whole = new Set<string>();
  for (const { port, endPort, protocol = 'TCP' } of ports) {
    const name = protocol.toLowerCase();
    if (port === undefined) whole.add(name);
    else if (typeof port === 'number')
      byProtocol.set(name, [...(byProtocol.get(name) ?? []), endPort === undefined ? `${port}` : `${port}-${endPort}`]);
  }
  return [
    ...[...whole].map((name) => `meta l4proto ${name}`),
    // One range per line: nft refuses literal sets whose ranges overlap.
    ...[...byProtocol]
      .filter(([name]) => !whole.has(name))
      .flatMap(([name, texts]) => [...new Set(texts)].map((text) => `${name} dport ${text}`)),
  ];
}

function namedPorts(ports: readonly NetworkPolicyPort[]): { readonly portName: string; readonly protocol: string }[] {
  return ports.flatMap(({ port, protocol = 'TCP' }) =>
    typeof port === 'string' ? [{ portName: port, protocol: protocol.toLowerCase() }] : [],
  );
}
