// One worker's connections, and which of them an exchange takes.
import type { Answer, Exchange } from '../exchange.ts';
import type { Access } from './access.ts';
import { H1Client } from './h1.ts';
import { H2Client } from './h2.ts';
import { sendRaw } from './raw.ts';

export class Transports {
  readonly #access: Access;
  readonly #h1: H1Client;
  readonly #h2: H2Client;

  constructor(access: Access) {
    this.#access = access;
    this.#h1 = new H1Client(access);
    this.#h2 = new H2Client(access);
  }

  send(exchange: Exchange): Promise<Answer> {
    switch (exchange.kind) {
      case 'http':
        return exchange.over === 'h1' ? this.#h1.send(exchange) : this.#h2.send(exchange);
      case 'raw':
        return sendRaw(this.#access, exchange);
      case 'dns':
        throw new Error('this target is no name server');
    }
  }

  close(): void {
    this.#h1.close();
    this.#h2.close();
  }
}
