/**
 * The precedence of Gateways that serve one host name on one port: the Gateway whose route named it first has precedence with all
 * of its routes, and the others get the remaining requests. So no Gateway can take another's requests by a longer path.
 */
import type { Stored } from '../../api/object.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { HostClaim } from '../snapshot/host-claims.ts';
import type { ResolvedListener } from './listeners.ts';
import type { OwnRoute } from './own-route.ts';
import type { Gateway } from './types.ts';

/** The Gateway with precedence for a host, with the route that named it. */
interface FirstGateway extends HostClaim {
  readonly gateway: Stored<Gateway>;
}

interface GatewayRank extends FirstGateway {
  /** 0 for the Gateway with precedence. */
  readonly level: number;
}

export class HostOrder {
  /** By port and host, then by the Gateway's uid, in their order. Ports of a single Gateway are absent. */
  readonly #ranks = new Map<number, Map<string, Map<string, GatewayRank>>>();

  /** `own` is sorted, the oldest first. */
  constructor(listeners: readonly ResolvedListener[], own: readonly OwnRoute[]) {
    const first = new Map<number, Stored<Gateway>>();
    for (const { gateway, listener, isServed, isHttp } of listeners) {
      if (!isServed || !isHttp) continue;
      const holder = first.get(listener.port) ?? gateway;
      first.set(listener.port, holder);
      if (holder !== gateway && !this.#ranks.has(listener.port)) this.#ranks.set(listener.port, new Map());
    }
    for (const one of own) if (one.kind !== 'TLSRoute' && one.converted.refusal === undefined) this.#add(one);
  }

  /** The number of Gateways with precedence over this one for the host. */
  levelOf(port: number, host: string, gateway: Stored<Gateway>): number {
    return this.#ranks.get(port)?.get(host)?.get(gateway.metadata.uid)?.level ?? 0;
  }

  /** Whether several Gateways serve the port. */
  isShared(port: number): boolean {
    return this.#ranks.has(port);
  }

  /** The route that gives another Gateway precedence over this one for the host; undefined when there is none. */
  before(port: number, host: string, gateway: Stored<Gateway>): HostClaim | undefined {
    const first = this.first(port, host);
    return first === undefined || first.gateway === gateway ? undefined : first;
  }

  /** Undefined when no route names the host, or when a single Gateway serves the port. */
  first(port: number, host: string): FirstGateway | undefined {
    const [first] = this.#ranks.get(port)?.get(host)?.values() ?? [];
    return first;
  }

  /** All hosts of a port that several Gateways serve. */
  *firstOnes(port: number): Iterable<readonly [host: string, FirstGateway]> {
    for (const [host, ranks] of this.#ranks.get(port) ?? [])
      for (const first of [...ranks.values()].slice(0, 1)) yield [host, first];
  }

  #add({ kind, route, places }: OwnRoute): void {
    const { creationTimestamp: since = '', name } = route.metadata;
    const source = `${kind} ${namespaceOf(route)}/${name}`;
    for (const { port, gateway, hosts } of places) {
      const ofPort = this.#ranks.get(port);
      if (ofPort === undefined) continue;
      for (const host of hosts) {
        const ranks = ofPort.get(host) ?? new Map<string, GatewayRank>();
        ofPort.set(host, ranks);
        const { uid } = gateway.metadata;
        if (!ranks.has(uid)) ranks.set(uid, { since, source, gateway, level: ranks.size });
      }
    }
  }
}
