/**
 * Which host names of TLSRoutes are terminated on their port instead. Where listeners of one Gateway meet, the most specific
 * decides, as the API says. It does not say who decides between Gateways of several owners: there, the older object keeps what
 * it has, so that nobody takes the connections of another.
 */
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { HostClaim } from '../snapshot/host-claims.ts';
import { namesAndWildcards, wildcardsAbove } from './hostnames.ts';
import type { ResolvedListener } from './listeners.ts';
import type { OwnRoute } from './own-route.ts';

interface Terminated extends HostClaim {
  readonly gateway: ResolvedListener['gateway'];
}

export class TerminatedHosts {
  /** By port and host name of the listener. */
  readonly #listeners = new Map<string, Terminated>();
  /** By port and host: the oldest route, and the oldest of another Gateway. */
  readonly #routes = new Map<number, Map<string, Terminated[]>>();

  /** `own` come the oldest first. */
  constructor(listeners: readonly ResolvedListener[], own: readonly OwnRoute[]) {
    for (const { gateway, listener, isTls, isPassthrough, isServed } of listeners) {
      if (!isServed || !isTls || isPassthrough) continue;
      const { namespace, name, creationTimestamp: since = '' } = gateway.metadata;
      const source = `listener ${listener.name} of Gateway ${namespace}/${name}`;
      this.#listeners.set(keyOf(listener.port, listener.hostname), { since, source, gateway });
    }
    for (const one of own) if (one.kind !== 'TLSRoute' && one.converted.refusal === undefined) this.#addRoute(one);
  }

  /** What has the host of a TLSRoute at that listener; undefined: nothing. */
  before({ route }: OwnRoute, { gateway, listener }: ResolvedListener, host: string): HostClaim | undefined {
    const { creationTimestamp: since = '' } = route.metadata;
    const own = (listener.hostname ?? '').toLowerCase();
    for (const name of namesAndWildcards(host)) {
      if (name === own) break;
      const found = this.#listeners.get(keyOf(listener.port, name));
      if (found !== undefined && (found.gateway === gateway || found.since <= since)) return found;
    }
    const older = this.#routes
      .get(listener.port)
      ?.get(host)
      ?.find((one) => one.gateway !== gateway);
    return older !== undefined && older.since <= since ? older : undefined;
  }

  /** Whether the TLSRoute, at whatever listener, has the host on the port. */
  isPassed(one: OwnRoute, port: number, host: string): boolean {
    return one.parents.some(({ attachments }) =>
      attachments.some(
        ({ listener, hosts }) =>
          listener.isServed &&
          listener.listener.port === port &&
          hosts.includes(host) &&
          this.before(one, listener, host) === undefined,
      ),
    );
  }

  /** Those of older routes that are below a wildcard which is passed through; `passed` has the oldest TLSRoute of each host. */
  *belowPassed(port: number, passed: ReadonlyMap<string, OwnRoute>): Iterable<string> {
    for (const [host, claims] of passed.size === 0 ? [] : (this.#routes.get(port) ?? [])) {
      if (passed.has(host)) continue;
      const wildcard = wildcardsAbove(host).find((one) => passed.has(one));
      if (wildcard === undefined) continue;
      const { route, parents } = passed.get(wildcard)!;
      const { creationTimestamp: since = '' } = route.metadata;
      const gateways = parents.flatMap(({ attachments }) => attachments.map(({ listener }) => listener.gateway));
      if (claims.some((claim) => claim.since <= since && !gateways.includes(claim.gateway))) yield host;
    }
  }

  #addRoute({ kind, route, parents }: OwnRoute): void {
    const { creationTimestamp: since = '', name } = route.metadata;
    const source = `${kind} ${namespaceOf(route)}/${name}`;
    for (const { attachments } of parents)
      for (const { listener, hosts } of attachments) {
        if (!listener.isServed || !listener.isTls) continue;
        const { gateway } = listener;
        const { port } = listener.listener;
        const ofPort = this.#routes.get(port) ?? new Map<string, Terminated[]>();
        this.#routes.set(port, ofPort);
        for (const host of hosts) {
          const known = ofPort.get(host) ?? [];
          ofPort.set(host, known);
          if (known.length < 2 && known[0]?.gateway !== gateway) known.push({ since, source, gateway });
        }
      }
  }
}

function keyOf(port: number, host = ''): string {
  return `${port} ${host.toLowerCase()}`;
}
