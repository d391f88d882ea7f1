/**
 * At a listener, HTTPRoutes and GRPCRoutes with intersecting host names exclude one another: the kind of the older route has the
 * names. Upstream: the rule in GRPCRouteSpec.Hostnames.
 */
import type { AttachedParent, Attachment } from './attach-routes.ts';
import { wildcardsAbove } from './hostnames.ts';
import type { ResolvedListener } from './listeners.ts';
import type { RouteKind } from './types.ts';

type Kind = 'HTTPRoute' | 'GRPCRoute';

export class KindClaims {
  readonly #claimed = new Map<ResolvedListener, Record<Kind, HostSet>>();

  /** The parents of a route without host names that an older route of the other kind has. */
  withoutTaken(kind: RouteKind, parents: readonly AttachedParent[]): readonly AttachedParent[] {
    if (kind === 'TLSRoute') return parents;
    const other = kind === 'HTTPRoute' ? 'GRPCRoute' : 'HTTPRoute';
    return parents.map((parent): AttachedParent => {
      if (parent.refusal !== undefined) return parent;
      const attachments = parent.attachments.filter((one) => this.#isFree(other, one));
      if (attachments.length > 0) return { ...parent, attachments };
      const message = `an older ${other} has a host name of the route at its listeners`;
      return { ...parent, attachments, refusal: { reason: 'HostnameConflict', message } };
    });
  }

  /** Claims the host names of a served route. Routes are passed the oldest first. */
  claim(kind: RouteKind, parents: readonly AttachedParent[]): void {
    if (kind === 'TLSRoute') return;
    for (const { attachments } of parents)
      for (const { listener, hosts } of attachments) {
        const claimed = this.#claimed.get(listener) ?? { HTTPRoute: new HostSet(), GRPCRoute: new HostSet() };
        this.#claimed.set(listener, claimed);
        for (const host of hosts) claimed[kind].add(host);
      }
  }

  #isFree(other: Kind, { listener, hosts }: Attachment): boolean {
    const claimed = this.#claimed.get(listener)?.[other];
    return claimed === undefined || !hosts.some((host) => claimed.meets(host));
  }
}

/** Host names, including wildcards, or '' for all. */
class HostSet {
  readonly #hosts = new Set<string>();
  /** The wildcards that cover names of the set. */
  readonly #above = new Set<string>();

  add(host: string): void {
    this.#hosts.add(host);
    for (const wildcard of wildcardsAbove(host)) this.#above.add(wildcard);
  }

  /** Whether the name covers a member or is covered by one. */
  meets(host: string): boolean {
    return this.#hosts.has(host) || this.#above.has(host) || wildcardsAbove(host).some((one) => this.#hosts.has(one));
  }
}
