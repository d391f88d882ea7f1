/** The traffic that network policies allow from one pod to another, as answered below `/keelson/v1/reach/`. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import type { DecidingPolicy, PortRange, Reach, ReachVerdict } from '../../api/reach.ts';
import { parseIp } from '../../base/cidr.ts';
import { podView } from '../../proxy/network-policy/policy-pods.ts';
import {
  directionVerdict,
  inBoth,
  type DirectionVerdict,
  type OpenPorts,
  type ReachEnd,
  type ReadPolicy,
} from '../../proxy/network-policy/policy-reach.ts';

export type PoliciesOf = (namespace: string) => readonly ReadPolicy[];
export type LabelsOf = (namespace: string) => Readonly<Record<string, string>> | undefined;

export interface ReachContext {
  readonly policiesOf: PoliciesOf;
  readonly labelsOf: LabelsOf;
}

/** A pod as policies see it. */
export interface Endpoint {
  readonly uid: string;
  readonly namespace: string;
  readonly node: string;
  readonly hostNetwork: boolean;
  /** Undefined when the pod has no address because it has not started or has terminated. */
  readonly end: ReachEnd | undefined;
}

export function endpointOf(pod: Stored<Pod>): Endpoint {
  const { metadata, spec, status } = pod;
  const address = status?.podIP ?? '';
  const ip = parseIp(address);
  const view = ip && podView(pod, { family: ip.family, nodeName: '' });
  const ended = isPodPhaseTerminal(status?.phase);
  return {
    uid: metadata.uid,
    namespace: metadata.namespace,
    node: spec?.nodeName ?? '',
    hostNetwork: spec?.hostNetwork === true,
    end: ip === undefined || ended ? undefined : { address, pod: view },
  };
}

const NO_POLICIES = { ports: [], egress: [], ingress: [] };

export function reachBetween(from: Endpoint, to: Endpoint, world: ReachContext): Reach {
  if (from.uid === to.uid) return { verdict: 'Open', because: 'Itself', ...NO_POLICIES };
  if (from.end === undefined || to.end === undefined)
    return { verdict: 'Closed', because: 'NoAddress', ...NO_POLICIES };
  // Traffic between a node and its own pods is not forwarded, so no policy applies.
  if ((from.hostNetwork || to.hostNetwork) && from.node === to.node)
    return { verdict: 'Open', because: 'SameMachine', ...NO_POLICIES };
  const egress = verdictOf('egress', { self: from, peer: to.end }, world);
  const ingress = verdictOf('ingress', { self: to, peer: from.end }, world);
  return {
    ...openness(inBoth(egress.opens, ingress.opens)),
    egress: egress.policies.map(decidingPolicy),
    ingress: ingress.policies.map(decidingPolicy),
  };
}

interface ReachSides {
  readonly self: Endpoint;
  readonly peer: ReachEnd;
}

function verdictOf(
  direction: 'ingress' | 'egress',
  { self, peer }: ReachSides,
  { policiesOf, labelsOf }: ReachContext,
): DirectionVerdict {
  const pod = self.end?.pod;
  if (pod === undefined) return { policies: [], opens: 'all' };
  return directionVerdict(policiesOf(self.namespace), { direction, self: pod, peer, labelsOf });
}

function decidingPolicy({ opens, ...policy }: DirectionVerdict['policies'][number]): DecidingPolicy {
  return { ...policy, ...openness(opens) };
}

function openness(opens: OpenPorts): { readonly verdict: ReachVerdict; readonly ports: readonly PortRange[] } {
  if (opens === 'all') return { verdict: 'Open', ports: [] };
  const ports = [...opens].flatMap(([protocol, intervals]) =>
    intervals.map(({ first, last }) => ({
      protocol: protocol.toUpperCase() as PortRange['protocol'],
      first: Number(first),
      last: Number(last),
    })),
  );
  return { verdict: ports.length === 0 ? 'Closed' : 'Limited', ports };
}
