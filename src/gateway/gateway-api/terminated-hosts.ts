/**
 * The host names of TLSRoutes that HTTP serves on their port instead. Among listeners of one Gateway the most specific decides,
 * as the API specifies. It does not specify precedence between Gateways of several owners: here, the older object keeps its
 * names, so that no Gateway can take another's connections.
 */
import { getOrMake } from '../../base/get-or-make.ts';
import { StepMeter, type Steps } from '../../base/steps.ts';
import { namespaceOf } from '../../component-helpers/rbac/subjects.ts';
import type { HostClaim } from '../snapshot/host-claims.ts';
import { namesAndWildcards, wildcardsAbove } from './hostnames.ts';
import type { ResolvedListener } from './listeners.ts';
import type { OwnRoute } from './own-route.ts';

type Gateway = ResolvedListener['gateway'];

interface Terminated extends HostClaim {
  readonly gateway: Gateway;
}

/** The number of host names and wildcards above them that one step looks up, some milliseconds. */
const NAMES_PER_STEP = 5000;

/** The oldest TLSRoute of a wildcard: its creation time, and the Gateways that it is attached to. */
interface PassedWildcard {
  readonly since: string;
  readonly gateways: ReadonlySet<Gateway>;
}

function passedWildcard({ route, parents }: OwnRoute): PassedWildcard {
  const { creationTimestamp: since = '' } = route.metadata;
  const gateways = parents.flatMap(({ attachments }) => attachments.map(({ listener }) => listener.gateway));
  return { since, gateways: new Set(gateways) };
}

export class TerminatedHosts {
  /** By port and host name: the listener of the oldest Gateway, and those of others. */
  readonly #listeners = new Map<string, Terminated[]>();
  /** By port and host: the oldest route, and the oldest of another Gateway. */
  readonly #routes = new Map<number, Map<string, Terminated[]>>();

  /** `own` is sorted, the oldest first. */
  constructor(listeners: readonly ResolvedListener[], own: readonly OwnRoute[]) {
    for (const { gateway, listener, isTls, isHttp, isServed } of listeners) {
      if (!isServed || !isTls || !isHttp) continue;
      const { namespace, name, creationTimestamp: since = '' } = gateway.metadata;
      const source = `listener ${listener.name} of Gateway ${namespace}/${name}`;
      const key = keyOf(listener.port, listener.hostname);
      const holders = this.#listeners.get(key) ?? [];
      this.#listeners.set(key, holders);
      holders.push({ since, source, gateway });
    }
    for (const one of own) if (one.kind !== 'TLSRoute' && one.converted.refusal === undefined) this.#addRoute(one);
  }

  /** The route that has the host of a TLSRoute at that listener; undefined when there is none. */
  before({ route }: OwnRoute, { gateway, listener }: ResolvedListener, host: string): HostClaim | undefined {
    const { creationTimestamp: since = '' } = route.metadata;
    const own = (listener.hostname ?? '').toLowerCase();
    for (const name of namesAndWildcards(host)) {
      if (name === own) break;
      const holders = this.#listeners.get(keyOf(listener.port, name)) ?? [];
      const terminated = holders.find((one) => one.gateway === gateway || one.since <= since);
      if (terminated !== undefined) return terminated;
    }
    const older = this.#routes
      .get(listener.port)
      ?.get(host)
      ?.find((one) => one.gateway !== gateway);
    return older !== undefined && older.since <= since ? older : undefined;
  }

  /**
   * The listeners at which the TLSRoute has its hosts, by port and host: of several the most specific. One step for each parent.
   */
  *listenersOf(one: OwnRoute): Steps<ReadonlyMap<number, ReadonlyMap<string, ResolvedListener>>> {
    const ports = new Map<number, Map<string, ResolvedListener>>();
    for (const { attachments } of one.parents) {
      for (const { listener, hosts } of attachments) {
        if (!listener.isServed) continue;
        const { port } = listener.listener;
        const ofPort = ports.get(port) ?? new Map<string, ResolvedListener>();
        ports.set(port, ofPort);
        for (const host of hosts) {
          const resolvedListener = ofPort.get(host);
          if (resolvedListener !== undefined && specificity(resolvedListener) >= specificity(listener)) continue;
          if (this.before(one, listener, host) === undefined) ofPort.set(host, listener);
        }
      }
      yield;
    }
    return ports;
  }

  /**
   * Hosts of older routes that are covered by a wildcard with passthrough. `passed` has the oldest TLSRoute of each host. One
   * step for some hosts.
   */
  *belowPassed(port: number, passed: ReadonlyMap<string, OwnRoute>): Steps<string[]> {
    const found: string[] = [];
    const holders = new Map<string, PassedWildcard>();
    const meter = new StepMeter(NAMES_PER_STEP);
    for (const [host, claims] of passed.size === 0 ? [] : (this.#routes.get(port) ?? [])) {
      if (passed.has(host)) continue;
      const above = wildcardsAbove(host);
      if (meter.endsStep(above.length + 1)) yield;
      const wildcard = above.find((one) => passed.has(one));
      if (wildcard === undefined) continue;
      const { since, gateways } = getOrMake(holders, wildcard, () => passedWildcard(passed.get(wildcard)!));
      if (claims.some((claim) => claim.since <= since && !gateways.has(claim.gateway))) found.push(host);
    }
    return found;
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
          const holders = ofPort.get(host) ?? [];
          ofPort.set(host, holders);
          if (holders.length < 2 && holders[0]?.gateway !== gateway) holders.push({ since, source, gateway });
        }
      }
  }
}

/** The longer of two names that cover a third one is the more specific. */
function specificity({ listener: { hostname = '' } }: ResolvedListener): number {
  return hostname.startsWith('*') || hostname === '' ? hostname.length : Infinity;
}

function keyOf(port: number, host = ''): string {
  return `${port} ${host.toLowerCase()}`;
}
