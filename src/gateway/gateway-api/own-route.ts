/** A route with a Gateway of ours, resolved. */
import type { Stored } from '../../api/object.ts';
import type { AttachedParent } from './attach-routes.ts';
import type { ConvertedRoute } from './route-rules.ts';
import type { Gateway, GatewayRoute, RouteKind } from './types.ts';

/** A route with a parent of ours. */
export interface OwnRoute {
  readonly kind: RouteKind;
  readonly route: Stored<GatewayRoute>;
  readonly parents: readonly AttachedParent[];
  readonly converted: ConvertedRoute;
  readonly places: readonly RoutePlace[];
}

/** Host names at which a Gateway's listeners of a port serve a route. */
export interface RoutePlace {
  readonly port: number;
  readonly gateway: Stored<Gateway>;
  readonly hosts: readonly string[];
  /** Names covered by wildcards of the place whose requests belong to other listeners. */
  readonly except: readonly string[] | undefined;
}

/** Listeners with the same host names share one place. */
export function placesOf(parents: readonly AttachedParent[]): RoutePlace[] {
  const places = new Map<string, Omit<RoutePlace, 'hosts'> & { readonly hosts: Set<string> }>();
  for (const { attachments } of parents)
    for (const { listener: resolved, hosts } of attachments) {
      const { gateway, listener, moreSpecific, isServed } = resolved;
      if (!isServed) continue;
      const { port } = listener;
      for (const host of hosts) {
        const isPattern = host === '' || host.startsWith('*.');
        const except = isPattern && moreSpecific.length > 0 ? moreSpecific : undefined;
        const key = `${port} ${gateway.metadata.uid} ${except === undefined ? '' : listener.name}`;
        const place = places.get(key) ?? { port, gateway, except, hosts: new Set() };
        places.set(key, place);
        place.hosts.add(host);
      }
    }
  return [...places.values()].map((place) => ({ ...place, hosts: [...place.hosts] }));
}
