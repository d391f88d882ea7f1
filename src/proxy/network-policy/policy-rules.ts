/**
 * Translates one NetworkPolicy to nftables rules over sets of addresses. Pure. Names of sets and chains derive from
 * their content: equal selectors share a set, and an existing chain never needs rewriting.
 *
 * Upstream leaves network policies to CNI plugins; the semantics are those of the API's documentation.
 */
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../api/gen/networking-v1.ts';
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import { isWide, policyExcess } from './policy-budget.ts';
import { blockAddresses, oneOf, portMatches } from './policy-matches.ts';

/** Which pods, anywhere in the cluster. */
export interface PodSelection {
  /** The pods' namespace; absent: `namespaceSelector` selects it. */
  readonly namespace?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly podSelector: LabelSelector;
}

/** A set whose elements follow pods. */
export interface PodSet {
  readonly name: string;
  /** A pod is in the set if any of these selects it. */
  readonly selections: readonly PodSelection[];
  /** If set, elements are address, protocol and number of these ports, as `portId` writes them. */
  readonly portIds: ReadonlySet<string> | undefined;
}

/** The rules of one direction of a policy. */
export interface PolicyChain {
  readonly name: string;
  readonly rules: readonly string[];
  readonly sets: readonly PodSet[];
}

/** A policy as rules. */
export interface PolicyView {
  /** Why it isolates its pods completely: it exceeds the limits of a policy. */
  readonly excess: string | undefined;
  readonly selection: PodSelection;
  readonly ingress?: PolicyChain | undefined;
  readonly egress?: PolicyChain | undefined;
}

export interface PolicyContext {
  readonly family: 4 | 6;
  readonly sha256Hex: (text: string) => string;
}

export type Direction = 'ingress' | 'egress';

/** A rule of either direction. Without peers it applies to everybody, without ports to all ports. */
export interface PolicyRule {
  readonly peers: readonly NetworkPolicyPeer[];
  readonly ports: readonly NetworkPolicyPort[];
}

/** The content of a policy, before it is translated to rules. */
export interface PolicyMeaning {
  /** Why it isolates its pods completely. */
  readonly excess: string | undefined;
  readonly selection: PodSelection;
  /** The rules of each direction in which it isolates its pods. */
  readonly rules: Readonly<Record<Direction, readonly PolicyRule[] | undefined>>;
}

export function meaningOf(policy: NetworkPolicy): PolicyMeaning {
  const { spec } = policy;
  const types = spec?.policyTypes ?? ['Ingress', ...(spec?.egress === undefined ? [] : ['Egress'])];
  const excess = policyExcess(policy);
  const rulesOf = (rules: readonly PolicyRule[]): readonly PolicyRule[] => (excess === undefined ? rules : []);
  const ingress = (spec?.ingress ?? []).map(({ from, ports }) => ({ peers: from ?? [], ports: ports ?? [] }));
  const egress = (spec?.egress ?? []).map(({ to, ports }) => ({ peers: to ?? [], ports: ports ?? [] }));
  return {
    excess,
    selection: {
      namespace: policy.metadata.namespace ?? '',
      // A selector that is too large is not evaluated: all pods of the namespace are isolated.
      podSelector: isWide(spec?.podSelector) ? {} : (spec?.podSelector ?? {}),
    },
    rules: {
      ingress: types.includes('Ingress') ? rulesOf(ingress) : undefined,
      egress: types.includes('Egress') ? rulesOf(egress) : undefined,
    },
  };
}

export function readPolicy(policy: NetworkPolicy, context: PolicyContext): PolicyView {
  const { excess, selection, rules } = meaningOf(policy);
  const namespace = policy.metadata.namespace ?? '';
  const chain = (direction: Direction, list: readonly PolicyRule[]): PolicyChain =>
    chainOf(list, { ...context, direction, namespace, selection });
  return {
    selection,
    excess,
    ingress: rules.ingress && chain('ingress', rules.ingress),
    egress: rules.egress && chain('egress', rules.egress),
  };
}

interface RuleContext extends PolicyContext {
  readonly direction: Direction;
  readonly namespace: string;
  readonly selection: PodSelection;
}

function chainOf(rules: readonly PolicyRule[], reading: RuleContext): PolicyChain {
  const sets = new Map<string, PodSet>();
  const lines = [...new Set(rules.flatMap((rule) => ruleLines(rule, reading, sets)))];
  const name = `${reading.direction}-${reading.sha256Hex(lines.join('\n')).slice(0, 16)}`;
  return { name, rules: lines, sets: [...sets.values()] };
}

/** A named port of a protocol, as written in sets of named ports. */
export function portId({ name, protocol }: { readonly name: string; readonly protocol: string }): string {
  return `${protocol.toLowerCase()} ${name}`;
}

/**
 * At most one line for each combination of peers (everybody, pods, blocks) and ports (all, numbers of a protocol,
 * names).
 */
function ruleLines({ peers, ports }: PolicyRule, reading: RuleContext, sets: Map<string, PodSet>): string[] {
  const ip = reading.family === 4 ? 'ip' : 'ip6';
  const side = `${ip} ${reading.direction === 'ingress' ? 'saddr' : 'daddr'}`;
  const selections = selectionsOf(peers, reading.namespace);
  const blocks = blockAddresses(peers, reading.family);
  const anybody = peers.length === 0;
  const add = (selected: readonly PodSelection[], portIds?: ReadonlySet<string>): string => {
    const content = JSON.stringify([selected, ...(portIds ?? [])]);
    const name = `pods-${reading.sha256Hex(content).slice(0, 16)}`;
    sets.set(name, { name, selections: selected, portIds });
    return name;
  };
  const from = [
    ...(anybody ? [''] : []),
    ...(selections.length === 0 ? [] : [`${side} @${add(selections)} `]),
    ...(blocks.length === 0 ? [] : [`${side} ${oneOf(blocks)} `]),
  ];
  const to = ports.length === 0 ? [''] : portMatches(ports).map((match) => `${match} `);
  // The name belongs to the receiving pod: the selected one, or each peer.
  const receivers =
    reading.direction === 'ingress'
      ? [reading.selection]
      : [...selections, ...(blocks.length > 0 || anybody ? [EVERY_POD] : [])];
  const named = namedPorts(ports);
  if (named.size > 0 && from.length > 0) to.push(`${ip} daddr . meta l4proto . th dport @${add(receivers, named)} `);
  return from.flatMap((peer) => to.map((port) => `${peer}${port}accept`));
}

const EVERY_POD: PodSelection = { namespaceSelector: {}, podSelector: {} };

/** Ports that are referred to by name, as `portId` writes them. */
export function namedPorts(ports: readonly NetworkPolicyPort[]): ReadonlySet<string> {
  return new Set(
    ports.flatMap(({ port, protocol = 'TCP' }) => (typeof port === 'string' ? [portId({ name: port, protocol })] : [])),
  );
}

/** Each selection of pods once. */
export function selectionsOf(peers: readonly NetworkPolicyPeer[], namespace: string): PodSelection[] {
  const found = new Map<string, PodSelection>();
  for (const peer of peers) {
    const selection = selectionOf(peer, namespace);
    if (selection !== undefined) found.set(JSON.stringify(selection), selection);
  }
  return [...found.values()];
}

function selectionOf(peer: NetworkPolicyPeer, namespace: string): PodSelection | undefined {
  if (peer.ipBlock !== undefined) return undefined;
  const podSelector = peer.podSelector ?? {};
  return peer.namespaceSelector === undefined
    ? { namespace, podSelector }
    : { namespaceSelector: peer.namespaceSelector, podSelector };
}
