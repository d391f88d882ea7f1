/** Who may reach whom by network policies: what the API server answers at `/keelson/v1/reach/`. No counterpart upstream. */

export interface PortRange {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly first: number;
  readonly last: number;
}

/** `Open`: everything. `Limited`: the ports alone. `Closed`: nothing. */
export type ReachVerdict = 'Open' | 'Limited' | 'Closed';

/** Why policies do not decide. */
export type Unasked = 'Itself' | 'SameMachine' | 'NoAddress';

/** A policy that isolates the pod, and what it lets through between the two. */
export interface DecidingPolicy {
  readonly namespace: string;
  readonly name: string;
  readonly verdict: ReachVerdict;
  readonly ports: readonly PortRange[];
  /** Places, from 0, of its rules that let something through. */
  readonly rules: readonly number[];
  /** Why it lets nothing through whatever its rules are. */
  readonly excess?: string | undefined;
}

/** From one pod to another. */
export interface Reach {
  readonly verdict: ReachVerdict;
  readonly because?: Unasked;
  /** What is let through where it is limited. */
  readonly ports: readonly PortRange[];
  /** Those of the sending pod, and of the receiving one. Without any, that direction is open. */
  readonly egress: readonly DecidingPolicy[];
  readonly ingress: readonly DecidingPolicy[];
}

/** A workload, or a pod that has none. */
export interface ReachGroup {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly pods: number;
  /** The name of one of its pods. */
  readonly pod: string;
}

/**
 * From one group to another, by their places in the list. `Mixed`: not the same for all of their pods; `NotCompared`: policies
 * tell too many kinds of pods apart.
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
  /** Pairs that are not open to each other; all others are. */
  readonly cells: readonly ReachCell[];
  /** Groups beyond the most that are answered. */
  readonly groupsNotShown: number;
  /** Pods that were not looked at: there are too many. */
  readonly podsNotRead: number;
  /** Pods of the host's network, which policies are not about: they are in no group. */
  readonly hostNetworkPods: number;
}
