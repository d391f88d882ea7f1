/**
 * Which host names ingresses have at the ports that they share with Gateways. A host that both name is asked of the older
 * first: of the ingresses' paths where the oldest object that names it is an Ingress, else of the Gateways' routes.
 */
import type { ConvertedIngress } from './accept-ingresses.ts';

export interface HostClaim {
  /** When the object was created. */
  readonly since: string;
  /** The object, as `Ingress ns/name`. */
  readonly source: string;
}

/** Those of ingresses that are served, by host name; '' for all. `ingresses` come the oldest first. */
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

/** What each host of a port is claimed by, on both sides. */
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

  /** Those of ingresses. */
  hosts(): Iterable<string> {
    return this.#ingresses.keys();
  }

  /** Adds what a route names. Routes come the oldest first. */
  addRoute(port: number, host: string, claim: HostClaim): void {
    if (!this.#ports.has(port) || !this.#ingresses.has(host)) return;
    const key = `${port} ${host}`;
    if (!this.#routes.has(key)) this.#routes.set(key, claim);
  }

  /** The ingress that is asked before all routes of Gateways; undefined: none is. */
  ingressBefore(port: number, host: string): HostClaim | undefined {
    const [ingress, route] = [this.#ingresses.get(host), this.#routes.get(`${port} ${host}`)];
    return ingress !== undefined && route !== undefined && ingress.since <= route.since ? ingress : undefined;
  }

  /** The route that is asked before all ingresses; undefined: none is. */
  routeBefore(port: number, host: string): HostClaim | undefined {
    const route = this.#routes.get(`${port} ${host}`);
    return this.ingressBefore(port, host) === undefined ? route : undefined;
  }
}
