/**
 * Which workloads may reach which, by network policies. Pods that no policy distinguishes form one class, and each
 * pair of classes is computed once: the cost depends on the number of classes, not of pods. Pure.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import type { NetworkPolicyPeer } from '../../api/gen/networking-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Reach, ReachCell, ReachGroup } from '../../api/reach.ts';
import { type IpAddress, parseIp } from '../../base/cidr.ts';
import type { Steps } from '../../base/steps.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { blockIntervals } from '../../proxy/network-policy/policy-matches.ts';
import { endpointOf, type Endpoint, reachBetween, type ReachContext } from './reach.ts';

interface Group extends ReachGroup {
  /** One pod of each class, with the number of pods in it. */
  readonly classes: Map<string, { readonly endpoint: Endpoint; count: number }>;
}

/** The most pairs of classes computed for one table. */
const MOST_ANSWERS = 20_000;
/** The pairs of classes computed in one step: each goes through all policies of two namespaces. */
const ANSWERS_AT_ONCE = 16;

/**
 * Groups pods by namespace, kind and name of their workload. Pods without an address are left out; pods on the host
 * network are only counted.
 */
export class ReachTableMaker {
  /** Pods on the host network, to which no policy applies. */
  hostNetworkPods = 0;
  readonly #world: ReachContext;
  readonly #keyOf: (endpoint: Endpoint) => string;
  readonly #answers = new Map<string, Reach>();
  #asked = 0;
  readonly #groups: readonly Group[];

  constructor(pods: readonly Stored<Pod>[], world: ReachContext, mentions: Mentions) {
    this.#world = world;
    this.#keyOf = classKey(mentions);
    const groups = new Map<string, Group & { pods: number }>();
    for (const pod of pods) {
      const endpoint = endpointOf(pod);
      if (endpoint.hostNetwork) this.hostNetworkPods++;
      if (endpoint.end === undefined || endpoint.hostNetwork) continue;
      const named = workloadOf(pod);
      const id = `${endpoint.namespace}/${named.kind}/${named.name}`;
      const group = groups.get(id) ?? {
        namespace: endpoint.namespace,
        ...named,
        pods: 0,
        pod: pod.metadata.name,
        classes: new Map(),
      };
      groups.set(id, group);
      group.pods++;
      const key = this.#keyOf(endpoint);
      const same = group.classes.get(key);
      if (same === undefined) group.classes.set(key, { endpoint, count: 1 });
      else same.count++;
    }
    this.#groups = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
  }

  get groups(): readonly ReachGroup[] {
    return this.#groups.map(({ namespace, kind, name, pods, pod }) => ({ namespace, kind, name, pods, pod }));
  }

  /** The cells of one group's row that are not fully open, for the first `count` groups. */
  *rowSteps(from: number, count: number): Steps<readonly ReachCell[]> {
    const cells: ReachCell[] = [];
    for (const [to, group] of this.#groups.slice(0, count).entries()) {
      const cell = yield* this.#cellSteps(this.#groups[from]!, group);
      if (cell.verdict !== 'Open') cells.push({ from, to, ...cell });
    }
    return cells;
  }

  *#cellSteps(from: Group, to: Group): Steps<Pick<ReachCell, 'verdict' | 'ports'>> {
    if (this.#answers.size + from.classes.size * to.classes.size > MOST_ANSWERS)
      return { verdict: 'NotCompared', ports: [] };
    let found: Pick<ReachCell, 'verdict' | 'ports'> | undefined;
    for (const [fromKey, { endpoint: sender, count }] of from.classes)
      for (const [toKey, { endpoint: receiver }] of to.classes) {
        // The only pod of a class reaches itself.
        if (from === to && fromKey === toKey && count === 1) continue;
        if (++this.#asked % ANSWERS_AT_ONCE === 0) yield;
        const { verdict, ports } = this.#answer(`${fromKey} ${toKey}`, sender, receiver);
        if (found === undefined) found = { verdict, ports };
        else if (!isSame(found, { verdict, ports })) return { verdict: 'Mixed', ports: [] };
      }
    return found ?? { verdict: 'Open', ports: [] };
  }

  #answer(key: string, sender: Endpoint, receiver: Endpoint): Reach {
    const cached = this.#answers.get(key);
    if (cached !== undefined) return cached;
    // Two pods of a class have different uids, so two are used to compute what is allowed within a class.
    const answer = reachBetween({ ...sender, uid: 'sender' }, { ...receiver, uid: 'receiver' }, this.#world);
    this.#answers.set(key, answer);
    return answer;
  }
}

function isSame(a: Pick<ReachCell, 'verdict' | 'ports'>, b: Pick<ReachCell, 'verdict' | 'ports'>): boolean {
  return a.verdict === b.verdict && JSON.stringify(a.ports) === JSON.stringify(b.ports);
}

/** The labels, namespaces and ports by which the policies distinguish pods. */
export interface Mentions {
  readonly labels: ReadonlySet<string>;
  /** One predicate per address block in a rule. */
  readonly blocks: readonly ((address: IpAddress) => boolean)[];
  readonly portNames: boolean;
}

export function mentionsOf({ policiesOf }: ReachContext, namespaces: Iterable<string>): Mentions {
  const labels = new Set<string>();
  const blocks: ((address: IpAddress) => boolean)[] = [];
  let portNames = false;
  const add = (selector: LabelSelector | undefined): void => {
    for (const key of Object.keys(selector?.matchLabels ?? {})) labels.add(key);
    for (const { key } of selector?.matchExpressions ?? []) labels.add(key);
  };
  for (const namespace of namespaces)
    for (const { selection, rules } of policiesOf(namespace)) {
      add(selection.podSelector);
      for (const { peers, ports } of [...(rules.ingress ?? []), ...(rules.egress ?? [])]) {
        for (const { podSelector } of peers) add(podSelector);
        if (peers.some(({ ipBlock }) => ipBlock !== undefined)) blocks.push(membership(peers));
        portNames ||= ports.some(({ port }) => typeof port === 'string');
      }
    }
  return { labels, blocks, portNames };
}

function membership(peers: readonly NetworkPolicyPeer[]): (address: IpAddress) => boolean {
  const held = { 4: blockIntervals(peers, 4), 6: blockIntervals(peers, 6) };
  return ({ family, value }) => held[family].some(({ first, last }) => first <= value && value <= last);
}

function classKey({ labels, blocks, portNames }: Mentions): (endpoint: Endpoint) => string {
  const keys = [...labels].sort();
  return ({ namespace, end }) => {
    const pod = end?.pod;
    const address = parseIp(end?.address ?? '');
    return JSON.stringify([
      namespace,
      keys.map((key) => pod?.labels[key] ?? null),
      address === undefined ? '' : blocks.map((holds) => (holds(address) ? '1' : '0')).join(''),
      address?.family,
      portNames ? pod?.ports : '',
    ]);
  };
}

/** A pod's workload: its controller, or the Deployment of its ReplicaSet. */
function workloadOf(pod: Stored<Pod>): { readonly kind: string; readonly name: string } {
  const owner = controllerOf(pod);
  if (owner === undefined) return { kind: 'Pod', name: pod.metadata.name };
  const hash = pod.metadata.labels?.['pod-template-hash'];
  const suffix = hash === undefined ? undefined : `-${hash}`;
  if (owner.kind !== 'ReplicaSet' || suffix === undefined || !owner.name.endsWith(suffix))
    return { kind: owner.kind, name: owner.name };
  return { kind: 'Deployment', name: owner.name.slice(0, -suffix.length) };
}
