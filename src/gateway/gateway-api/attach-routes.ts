/** Which listeners a route is attached to, and why it is not to others. */
import type { Stored } from '../../api/object.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import { routeHosts } from './hostnames.ts';
import type { ResolvedListener } from './listeners.ts';
import type { GatewayRoute, ParentReference } from './types.ts';

const GROUP = 'gateway.networking.k8s.io';

/** A listener with the names at which the route answers behind it. */
export interface Attachment {
  readonly listener: ResolvedListener;
  readonly hosts: readonly string[];
}

/** What becomes of one parent of a route; undefined where it is no Gateway of ours. */
export interface AttachedParent {
  readonly parentRef: ParentReference;
  readonly attachments: readonly Attachment[];
  /** Why there are none. */
  readonly refusal?: { readonly reason: string; readonly message: string };
}

export interface AttachContext {
  readonly listeners: readonly ResolvedListener[];
  readonly labelsOfNamespace: (name: string) => Readonly<Record<string, string>>;
}

export function attachRoute(
  kind: string,
  route: Stored<GatewayRoute>,
  { listeners, labelsOfNamespace }: AttachContext,
): AttachedParent[] {
  const own = namespaceOf(route);
  const { spec } = route;
  return (spec.parentRefs ?? []).flatMap((parentRef): AttachedParent[] => {
    const { group = GROUP, kind: parentKind = 'Gateway', namespace = own, name, sectionName, port } = parentRef;
    if (group !== GROUP || parentKind !== 'Gateway') return [];
    const ofGateway = listeners.filter(
      ({ gateway }) => gateway.metadata.namespace === namespace && gateway.metadata.name === name,
    );
    if (ofGateway.length === 0) return [];
    const named = ofGateway.filter(
      ({ listener }) =>
        (sectionName === undefined || listener.name === sectionName) && (port === undefined || listener.port === port),
    );
    if (named.length === 0) return [refused(parentRef, 'NoMatchingParent', 'the gateway has no such listener')];
    const allowed = named.filter((one) => one.kinds.includes(kind) && allowsNamespace(one, own, labelsOfNamespace));
    if (allowed.length === 0)
      return [refused(parentRef, 'NotAllowedByListeners', `no listener takes a ${kind} of namespace ${own}`)];
    const attachments = allowed
      .map((listener) => ({
        listener,
        hosts: routeHosts(listener.listener.hostname, spec.hostnames),
      }))
      .filter(({ hosts }) => hosts.length > 0);
    if (attachments.length === 0)
      return [refused(parentRef, 'NoMatchingListenerHostname', 'no listener has a host name in common with the route')];
    return [{ parentRef, attachments }];
  });
}

function refused(parentRef: ParentReference, reason: string, message: string): AttachedParent {
  return { parentRef, attachments: [], refusal: { reason, message } };
}

function allowsNamespace(
  { gateway, listener }: ResolvedListener,
  namespace: string,
  labelsOfNamespace: AttachContext['labelsOfNamespace'],
): boolean {
  const { from = 'Same', selector } = listener.allowedRoutes?.namespaces ?? {};
  if (from === 'All') return true;
  if (from === 'Same') return gateway.metadata.namespace === namespace;
  if (from !== 'Selector') return false;
  try {
    return compileLabelSelector(selector).matches(labelsOfNamespace(namespace));
  } catch {
    return false; // An operator that there is not, which the definition does not check, selects nothing.
  }
}
