/** Reads which pods can reach which under network policies. */
import type { Reach, ReachTable } from '../../api/reach.ts';
import { sendJson } from './http.ts';
import { type Kind, listPath, objectPath } from './kinds.ts';

/** A pod as `namespace/name`. */
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
