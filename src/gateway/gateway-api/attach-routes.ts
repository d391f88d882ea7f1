/** Decides which listeners a route is attached to, with the reason when there is none. */
import type { Stored } from '../../api/object.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { appendAll } from '../../base/lists.ts';
import type { Steps } from '../../base/steps.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import { isBelow, routeHosts } from './hostnames.ts';
import type { ResolvedListener } from './listeners.ts';
import type { GatewayRoute, ParentReference } from './types.ts';

const GROUP = 'gateway.networking.k8s.io';

/** A listener with the host names of the route there; none when more specific listeners have them all. */
export interface Attachment {
  readonly listener: ResolvedListener;
  readonly hosts: readonly string[];
}

/** The result for one parent of a route; undefined when the parent is no Gateway of ours. */
export interface AttachedParent {
  readonly parentRef: ParentReference;
  readonly attachments: readonly Attachment[];
  /** The reason why there are no attachments. */
  readonly refusal?: { readonly reason: string; readonly message: string };
}

export interface AttachContext {
  readonly listeners: readonly ResolvedListener[];
  readonly labelsOfNamespace: (name: string) => Readonly<Record<string, string>>;
}

/** One step for each parent. */
export function* attachRoute(
  kind: string,
  route: Stored<GatewayRoute>,
  context: AttachContext,
): Steps<AttachedParent[]> {
  const parents: AttachedParent[] = [];
  for (const parentRef of route.spec.parentRefs ?? []) {
    appendAll(parents, attachTo(parentRef, { kind, route, context }));
    yield;
  }
  return parents;
}

interface AttachedRoute {
  readonly kind: string;
  readonly route: Stored<GatewayRoute>;
  readonly context: AttachContext;
}

/** Undefined when the parent is no Gateway of ours. */
function attachTo(
  parentRef: ParentReference,
  { kind, route, context: { listeners, labelsOfNamespace } }: AttachedRoute,
): AttachedParent[] {
  const own = namespaceOf(route);
  const { spec } = route;
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
  if (named.length === 0) return [refusedParent(parentRef, 'NoMatchingParent', 'the gateway has no such listener')];
  const allowed = named.filter((one) => one.kinds.includes(kind) && allowsNamespace(one, own, labelsOfNamespace));
  if (allowed.length === 0)
    return [refusedParent(parentRef, 'NotAllowedByListeners', `no listener takes a ${kind} of namespace ${own}`)];
  const attachments = allowed
    .map((listener) => ({
      listener,
      hosts: routeHosts(listener.listener.hostname, spec.hostnames),
    }))
    .filter(({ hosts }) => hosts.length > 0)
    .map(({ listener, hosts }) => ({ listener, hosts: hosts.filter((host) => !isElsewhere(host, listener)) }));
  if (attachments.length === 0)
    return [
      refusedParent(parentRef, 'NoMatchingListenerHostname', 'no listener has a host name in common with the route'),
    ];
  return [{ parentRef, attachments }];
}

/** Whether a more specific listener gets all requests for the host. */
function isElsewhere(host: string, { moreSpecific }: ResolvedListener): boolean {
  return moreSpecific.some((name) => name === host || isBelow(host, name));
}

function refusedParent(parentRef: ParentReference, reason: string, message: string): AttachedParent {
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
    return false; // An unknown operator, which the definition does not validate, selects nothing.
  }
}
