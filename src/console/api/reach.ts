/** Who may reach whom by network policies: Keelson's own answers beside the paths of pods. */
import { sendJson } from './http.ts';
import { type Kind, listPath, objectPath } from './kinds.ts';

export type Verdict = 'Open' | 'Limited' | 'Closed';

export interface PortRange {
  readonly protocol: string;
  readonly first: number;
  readonly last: number;
}

/** A policy that isolates a pod, and what it lets through between the two. */
export interface DecidingPolicy {
  readonly namespace: string;
  readonly name: string;
  readonly verdict: Verdict;
  readonly ports: readonly PortRange[];
  readonly rules: readonly number[];
  readonly excess?: string;
}

export interface Reach {
  readonly verdict: Verdict;
  readonly because?: 'Itself' | 'SameMachine' | 'NoAddress';
  readonly ports: readonly PortRange[];
  readonly egress: readonly DecidingPolicy[];
  readonly ingress: readonly DecidingPolicy[];
}

export interface ReachGroup {
  readonly namespace: string;
  readonly kind: string;
  readonly name: string;
  readonly pods: number;
  readonly pod: string;
}

export interface ReachCell {
  readonly from: number;
  readonly to: number;
  readonly verdict: Verdict | 'Mixed' | 'NotCompared';
  readonly ports: readonly PortRange[];
}

export interface ReachTable {
  readonly groups: readonly ReachGroup[];
  readonly cells: readonly ReachCell[];
  readonly groupsNotShown: number;
  readonly podsNotRead: number;
  readonly hostNetworkPods: number;
}

/** A place of a pod, as `namespace/name`. */
export interface PodPlace {
  readonly namespace: string;
  readonly name: string;
}

export function readReach(
  pods: Kind,
  { from, to }: { readonly from: PodPlace; readonly to: PodPlace },
  signal: AbortSignal,
): Promise<Reach> {
  const params = new URLSearchParams({ to: `${to.namespace}/${to.name}` });
  return sendJson(`/keelson/v1/reach${objectPath({ kind: pods, ...from })}?${params.toString()}`, { signal });
}

export function readReachTable(
  pods: Kind,
  { namespace, labelSelector }: { readonly namespace: string; readonly labelSelector: string },
  signal: AbortSignal,
): Promise<ReachTable> {
  const params = labelSelector === '' ? '' : `?${new URLSearchParams({ labelSelector }).toString()}`;
  return sendJson(`/keelson/v1/reach${listPath(pods, namespace)}${params}`, { signal });
}
