/**
 * TLS connections that go to a backend as they are, by the name that the client asks for. Names of a port that are terminated
 * here may be among them: the most specific name decides, as for listeners of Gateways.
 */
import { connect, type Socket } from 'node:net';
import type { Clock } from '../../platform/clock.ts';
import type { Backend, Endpoint, Listener, Passthrough, Snapshot } from '../snapshot/snapshot.ts';
import { CONNECT_TIMEOUT_MS } from './backends/backend-call.ts';
import type { Backends } from './backends/backends.ts';
import { joinConnections } from './join-connections.ts';
import type { WeightedChoice } from './weighted-choice.ts';

/** Who serves a name: a route, this process itself, or nobody. */
type Owner = Passthrough | 'terminated' | undefined;

/** The names of one port. */
export class ServerNames {
  readonly #owners = new Map<string, Exclude<Owner, undefined>>();
  readonly #terminatesOthers: boolean;
  /** False: all names are terminated, so that no client's first message need be read. */
  readonly hasPassthrough: boolean;

  constructor({ passthrough = [], terminated = [], certificates }: Listener) {
    for (const route of passthrough) if (!this.#owners.has(route.host)) this.#owners.set(route.host, route);
    for (const host of terminated) if (!this.#owners.has(host)) this.#owners.set(host, 'terminated');
    this.#terminatesOthers = certificates.length > 0;
    this.hasPassthrough = passthrough.length > 0;
  }

  ownerOf(name: string): Owner {
    const exact = name === '' ? undefined : this.#owners.get(name);
    if (exact !== undefined) return exact;
    for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
      const wildcard = this.#owners.get(`*${name.slice(dot)}`);
      if (wildcard !== undefined) return wildcard;
    }
    return this.#owners.get('') ?? (this.#terminatesOthers ? 'terminated' : undefined);
  }
}

/** Joins the client with an endpoint of the route's backends. Without one its connection ends. */
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
    const upstream = await reach(endpoint, clock);
    if (upstream === undefined) {
      backends.failed(endpoint);
      continue;
    }
    if (socket.destroyed) {
      upstream.destroy();
      return;
    }
    // What one side has ended, the other may still answer.
    socket.allowHalfOpen = true;
    joinConnections(socket, upstream, clock);
    return;
  }
  socket.destroy();
}

function reach({ address, port }: Endpoint, clock: Clock): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true });
    const fail = (): void => {
      cancel();
      socket.destroy();
      resolve(undefined);
    };
    const cancel = clock.setTimer(CONNECT_TIMEOUT_MS, fail);
    socket.on('error', fail);
    socket.once('connect', () => {
      cancel();
      socket.off('error', fail);
      resolve(socket);
    });
  });
}
