/**
 * TLS connections that are assigned to a backend by server name: passed through, or terminated here with the inner bytes passed
 * on. The port may also serve HTTP: the most specific name decides, as for listeners of Gateways.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../../platform/clock.ts';
import type { Backend, Endpoint, Listener, Passthrough, Snapshot } from '../snapshot/snapshot.ts';
import { CONNECT_TIMEOUT_MS } from './backends/backend-call.ts';
import type { Backends } from './backends/backends.ts';
import { tlsOptions } from './backends/verify-backend.ts';
import { joinConnections } from './join-connections.ts';
import type { WeightedChoice } from './weighted-choice.ts';

/** The owner of a name: a TLSRoute, HTTP routes, or none. */
export type Owner = Passthrough | 'http' | undefined;

/** The server names of one port. */
export class ServerNames {
  readonly #owners = new Map<string, Exclude<Owner, undefined>>();
  readonly #othersAreHttp: boolean;
  /** False when all names are served by HTTP, so that the first message need not be parsed. */
  readonly hasPassthrough: boolean;

  constructor({ passthrough = [], terminated = [], certificates, isTcp = false }: Listener) {
    for (const route of passthrough) if (!this.#owners.has(route.host)) this.#owners.set(route.host, route);
    for (const host of terminated) if (!this.#owners.has(host)) this.#owners.set(host, 'http');
    this.#othersAreHttp = certificates.length > 0 && !isTcp;
    this.hasPassthrough = passthrough.length > 0 || isTcp;
  }

  ownerOf(name: string): Owner {
    const exact = name === '' ? undefined : this.#owners.get(name);
    if (exact !== undefined) return exact;
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const wildcard = this.#owners.get(`*${name.slice(dot)}`);
      if (wildcard !== undefined) return wildcard;
    }
    return this.#owners.get('') ?? (this.#othersAreHttp ? 'http' : undefined);
  }
}

/** Joins the client with an endpoint of the route's backends. Without an endpoint its connection ends. */
export async function passThrough(
  socket: Socket,
  route: Passthrough,
  {
    clock,
    backends,
    weights,
    known,
  }: {
    readonly clock: Clock;
    readonly backends: Backends;
    readonly weights: WeightedChoice;
    readonly known: Snapshot['backends'];
  },
): Promise<void> {
  socket.on('error', () => socket.destroy());
  const chosen = weights.choose(route);
  const backend: Backend | undefined = chosen === undefined ? undefined : known[chosen.backend];
  for (const endpoint of backend === undefined ? [] : backends.order(backend, socket.remoteAddress ?? '')) {
    if (socket.destroyed) return;
    const upstream = await connectEndpoint(endpoint, {
      clock,
      verification: route.isTerminated && backend?.verification,
    });
    if (upstream === undefined) {
      backends.failed(endpoint);
      continue;
    }
    if (socket.destroyed) {
      upstream.destroy();
      return;
    }
    // One side may still send after the other has ended.
    socket.allowHalfOpen = true;
    joinConnections(socket, upstream, clock);
    return;
  }
  socket.destroy();
}

/** Undefined when the endpoint cannot be reached, or its identity cannot be verified. */
function connectEndpoint(
  { address, port }: Endpoint,
  { clock, verification }: { readonly clock: Clock; readonly verification: Backend['verification'] | false },
): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const target = { host: address, port, allowHalfOpen: true, noDelay: true };
    const socket = verification ? connectTls({ ...target, ...tlsOptions({ verification }, '') }) : connect(target);
    const fail = (): void => {
      cancel();
      socket.destroy();
      resolve(undefined);
    };
    const cancel = clock.setTimer(CONNECT_TIMEOUT_MS, fail);
    socket.on('error', fail);
    socket.once(verification ? 'secureConnect' : 'connect', () => {
      cancel();
      socket.off('error', fail);
      resolve(socket);
    });
  });
}
