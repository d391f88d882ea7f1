/**
 * Reachability of pods under network policies: the responses of the API server at `/keelson/v1/reach/`. No counterpart upstream.
 */

export interface PortRange {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly first: number;
  readonly last: number;
}

/** `Open`: all ports are reachable. `Limited`: only the listed ports. `Closed`: none. */
export type ReachVerdict = 'Open' | 'Limited' | 'Closed';

/** The reason why policies do not apply. */
export type NoPolicyReason = 'Itself' | 'SameMachine' | 'NoAddress';

/** A policy that isolates the pod, and the rules by which it allows traffic between the two pods. */
export interface DecidingPolicy {
  readonly namespace: string;
  readonly name: string;
  readonly verdict: ReachVerdict;
  readonly ports: readonly PortRange[];
  /** Indices, from 0, of its rules that allow some traffic. */
  readonly rules: readonly number[];
  /** The reason why the policy allows nothing, whatever its rules are. */
  readonly excess?: string | undefined;
}

/** The reachability from one pod to another. */
export interface Reach {
  readonly verdict: ReachVerdict;
  readonly because?: NoPolicyReason;
  /** The reachable ports when the verdict is `Limited`. */
  readonly ports: readonly PortRange[];
  /** The policies of the sending pod, and those of the receiving pod. A direction without policies is open. */
  readonly egress: readonly DecidingPolicy[];
  readonly ingress: readonly DecidingPolicy[];
}

/** A workload, or a pod without one. */
export interface ReachGroup {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly pods: number;
  /** The name of one pod of the group. */
  readonly pod: string;
}

/**
 * The verdict from one group to another, by their indices. `Mixed`: it differs between pods of the groups; `NotCompared`:
 * policies distinguish too many kinds of pods.
 */
export interface ReachCell {
  readonly from: number;
  readonly to: number;
  readonly verdict: ReachVerdict | 'Mixed' | 'NotCompared';
  readonly ports: readonly PortRange[];
}

export interface ReachTable {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'ReachTable';
  readonly groups: readonly ReachGroup[];
  /** Pairs of groups whose verdict is not `Open`; all other pairs are open. */
  readonly cells: readonly ReachCell[];
  /** The number of groups beyond the limit of a response. */
  readonly groupsNotShown: number;
  /** The number of pods beyond the limit, which were not read. */
  readonly podsNotRead: number;
  /** The number of pods in the host's network, to which policies do not apply; they are in no group. */
  readonly hostNetworkPods: number;
}
