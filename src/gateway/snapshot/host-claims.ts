/**
 * The host names of ingresses on ports that they share with Gateways. For a host that both have, the older object decides: the
 * ingresses' paths have precedence when the oldest object is an Ingress, else the Gateways' routes.
 */
import type { ConvertedIngress } from './accept-ingresses.ts';

export interface HostClaim {
  /** The creation time of the object. */
  readonly since: string;
  /** The object, as `Ingress ns/name`. */
  readonly source: string;
}

/** The claims of served ingresses by host name; '' for all names. `ingresses` are sorted by age. */
export function claimsOfIngresses(ingresses: readonly ConvertedIngress[]): ReadonlyMap<string, HostClaim> {
  const claims = new Map<string, HostClaim>();
  for (const { ingress, served } of ingresses) {
    if (served === undefined) continue;
    const { metadata, spec } = ingress;
    const { creationTimestamp: since = '', namespace, name } = metadata;
    const claim = { since, source: `Ingress ${namespace}/${name}` };
    const hosts = (spec?.rules ?? []).map(({ host = '' }) => host);
    if (spec?.defaultBackend !== undefined) hosts.push('');
    for (const host of hosts) if (!claims.has(host)) claims.set(host, claim);
  }
  return claims;
}

/** The claims of both sides on each host of a port. */
export class SharedHosts {
  readonly #ports: ReadonlySet<number>;
  readonly #ingresses: ReadonlyMap<string, HostClaim>;
  /** The oldest route of Gateways, by port and host. */
  readonly #routes = new Map<string, HostClaim>();

  /** `ports`: those of the ingresses. */
  constructor(ports: Iterable<number>, ingresses: ReadonlyMap<string, HostClaim>) {
    this.#ports = new Set(ports);
    this.#ingresses = ingresses;
  }

  /** The hosts of ingresses. */
  hosts(): Iterable<string> {
    return this.#ingresses.keys();
  }

  /** Adds a host of a route. Routes are passed the oldest first. */
  addRoute(port: number, host: string, claim: HostClaim): void {
    if (!this.#ports.has(port) || !this.#ingresses.has(host)) return;
    const key = `${port} ${host}`;
    if (!this.#routes.has(key)) this.#routes.set(key, claim);
  }

  /** The ingress that has precedence over all routes of Gateways; undefined when there is none. */
  ingressBefore(port: number, host: string): HostClaim | undefined {
    const [ingress, route] = [this.#ingresses.get(host), this.#routes.get(`${port} ${host}`)];
    return ingress !== undefined && route !== undefined && ingress.since <= route.since ? ingress : undefined;
  }

  /** The route that has precedence over all ingresses; undefined when there is none. */
  routeBefore(port: number, host: string): HostClaim | undefined {
    const route = this.#routes.get(`${port} ${host}`);
    return this.ingressBefore(port, host) === undefined ? route : undefined;
  }
}
