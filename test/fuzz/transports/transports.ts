// The connections of one worker, by kind of exchange.
import type { Answer, Exchange, PeersExchange } from '../exchange.ts';
import type { Target } from '../targets/target.ts';
import type { Access } from './access.ts';
import { GrpcClient } from './grpc.ts';
import { H1Client } from './h1.ts';
import { H2Client } from './h2.ts';
import { sendPlugin } from './plugin.ts';
import { sendRaw } from './raw.ts';

/** The connections to one address. */
class Door {
  readonly access: Access;
  readonly h1: H1Client;
  readonly h2: H2Client;
  readonly grpc: GrpcClient;

  constructor(access: Access) {
    this.access = access;
    this.h1 = new H1Client(access);
    this.h2 = new H2Client(access);
    this.grpc = new GrpcClient(access);
  }
}

export class Transports {
  readonly #target: Pick<Target, 'access' | 'doors' | 'peers' | 'plugins'>;
  readonly #doors = new Map<string, Door>();

  constructor(target: Pick<Target, 'access' | 'doors' | 'peers' | 'plugins'>) {
    this.#target = target;
  }

  async send(exchange: Exchange): Promise<Answer> {
    switch (exchange.kind) {
      case 'http': {
        const { h1, h2 } = this.#door(exchange.to);
        return exchange.over === 'h1' ? h1.send(exchange) : h2.send(exchange);
      }
      case 'raw':
        return sendRaw(this.#door(exchange.to).access, exchange);
      case 'grpc':
        return this.#door(exchange.to).grpc.send(exchange);
      case 'plugin':
        if (this.#target.plugins === undefined) throw new Error('this target has no plugins');
        return sendPlugin(this.#target.plugins, exchange);
      case 'peers':
        return this.#sendPeers(exchange);
      case 'dns':
        throw new Error('this target is no name server');
    }
  }

  /** The response to the last request. */
  async #sendPeers({ answers, requests }: PeersExchange): Promise<Answer> {
    for (const [method, answer] of answers) this.#target.peers?.hostile(method, answer);
    let last: Answer = { outcome: 'cut', durationMs: 0 };
    for (const request of requests) last = await this.send(request);
    return last;
  }

  #door(name = ''): Door {
    const { access, doors = {} } = this.#target;
    let door = this.#doors.get(name);
    if (door === undefined) this.#doors.set(name, (door = new Door(name === '' ? access : doors[name]!)));
    return door;
  }

  close(): void {
    for (const { h1, h2, grpc } of this.#doors.values()) {
      h1.close();
      h2.close();
      grpc.close();
    }
  }
}
