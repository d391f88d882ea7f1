/**
 * The traffic that network policies allow between two pods: the same interpretation of policies as in the kernel's
 * rules, for one pair. Pure.
 */
import type { NetworkPolicy } from '../../api/gen/networking-v1.ts';
import { parseIp } from '../../base/cidr.ts';
import { commonIntervals, joinIntervals, type Interval } from '../../base/intervals.ts';
import { blockIntervals, portIntervals } from './policy-matches.ts';
import { selects, type PodView } from './policy-pods.ts';
import {
  meaningOf,
  namedPorts,
  portId,
  selectionsOf,
  type Direction,
  type PolicyMeaning,
  type PolicyRule,
} from './policy-rules.ts';

type LabelsOf = (namespace: string) => Readonly<Record<string, string>> | undefined;

/** One end of a connection. A pod of the host's network is an address alone, as policies see it. */
export interface ReachEnd {
  readonly address: string;
  readonly pod?: PodView | undefined;
}

/** Ports by protocol, in lower case. `all`: of every protocol, those without ports too. */
export type OpenPorts = 'all' | ReadonlyMap<string, readonly Interval[]>;

/** The traffic that one policy of a pod allows to or from the other end. */
export interface PolicyVerdict {
  readonly namespace: string;
  readonly name: string;
  /** Indexes of its rules of this direction that allow anything. */
  readonly rules: readonly number[];
  readonly opens: OpenPorts;
  /** Why it allows nothing, whatever its rules. */
  readonly excess: string | undefined;
}

/** One direction: `policies` are those that isolate the pod in it; without any, everything is allowed. */
export interface DirectionVerdict {
  readonly policies: readonly PolicyVerdict[];
  readonly opens: OpenPorts;
}

/** A parsed policy. */
export interface ReadPolicy extends PolicyMeaning {
  readonly namespace: string;
  readonly name: string;
}

const LAST_PORT = 65_535n;

export function readForReach(policy: NetworkPolicy): ReadPolicy {
  const { namespace = '', name = '' } = policy.metadata;
  return { ...meaningOf(policy), namespace, name };
}

/** The traffic that the policies of a pod allow: for ingress `self` receives, for egress it sends. */
export function directionVerdict(
  policies: readonly ReadPolicy[],
  { direction, self, peer, labelsOf }: { direction: Direction; self: PodView; peer: ReachEnd; labelsOf: LabelsOf },
): DirectionVerdict {
  const verdicts = policies.flatMap(({ namespace, name, excess, selection, rules: { [direction]: rules } }) => {
    if (rules === undefined || !selects(selection, self, labelsOf)) return [];
    const receiver = direction === 'ingress' ? self : peer.pod;
    const opened = rules.map((rule) => openedBy(rule, { namespace, direction, receiver, peer, labelsOf }));
    return [
      {
        namespace,
        name,
        rules: opened.flatMap((opens, at) => (isNothing(opens) ? [] : [at])),
        opens: union(opened),
        excess,
      },
    ];
  });
  return { policies: verdicts, opens: verdicts.length === 0 ? 'all' : union(verdicts.map(({ opens }) => opens)) };
}

interface RuleContext {
  readonly namespace: string;
  readonly direction: Direction;
  readonly receiver: PodView | undefined;
  readonly peer: ReachEnd;
  readonly labelsOf: LabelsOf;
}

const NOTHING: OpenPorts = new Map();

function openedBy({ peers, ports }: PolicyRule, context: RuleContext): OpenPorts {
  const { namespace, direction, receiver, peer, labelsOf } = context;
  const { pod } = peer;
  const isSelected =
    pod !== undefined && selectionsOf(peers, namespace).some((selection) => selects(selection, pod, labelsOf));
  const isAddressed = peers.length === 0 || isInBlocks(peers, peer.address);
  if (!isSelected && !isAddressed) return NOTHING;
  if (ports.length === 0) return 'all';
  const opens = new Map<string, Interval[]>();
  for (const [protocol, intervals] of portIntervals(ports))
    opens.set(protocol, intervals === 'all' ? [{ first: 0n, last: LAST_PORT }] : [...intervals]);
  // Which pods a set of named ports includes: selected ones, and with address blocks or without peers all pods of
  // known namespaces.
  const isNamed = direction === 'ingress' || isSelected || (pod !== undefined && labelsOf(pod.namespace) !== undefined);
  const names = namedPorts(ports);
  for (const port of isNamed ? (receiver?.ports ?? []) : []) {
    if (!names.has(portId(port))) continue;
    const number = BigInt(port.port);
    opens.set(port.protocol, [...(opens.get(port.protocol) ?? []), { first: number, last: number }]);
  }
  return opens;
}

function isInBlocks(peers: PolicyRule['peers'], address: string): boolean {
  const ip = parseIp(address);
  if (ip === undefined) return false;
  return blockIntervals(peers, ip.family).some(({ first, last }) => first <= ip.value && ip.value <= last);
}

function isNothing(opens: OpenPorts): boolean {
  return opens !== 'all' && opens.size === 0;
}

function union(all: readonly OpenPorts[]): OpenPorts {
  const together = new Map<string, Interval[]>();
  for (const opens of all) {
    if (opens === 'all') return 'all';
    for (const [protocol, intervals] of opens)
      together.set(protocol, joinIntervals([...(together.get(protocol) ?? []), ...intervals]));
  }
  return together;
}

/** The ports that both allow. */
export function inBoth(a: OpenPorts, b: OpenPorts): OpenPorts {
  if (a === 'all') return b;
  if (b === 'all') return a;
  const both = [...a].map(
    ([protocol, intervals]) => [protocol, commonIntervals(intervals, b.get(protocol) ?? [])] as const,
  );
  return new Map(both.filter(([, intervals]) => intervals.length > 0));
}
