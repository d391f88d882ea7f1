// DNS messages over UDP and TCP, and a resolver that checks correct responses.
import { createSocket, type Socket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { bytesOf, type DnsExchange } from '../exchange.ts';

const PORT = 53;

export class DnsClient {
  readonly #address: string;
  readonly #socket: Socket = createSocket('udp4');
  readonly #resolver = new Resolver({ timeout: 5000, tries: 3 });

  constructor(address: string) {
    this.#address = address;
    this.#resolver.setServers([address]);
    this.#socket.on('error', () => undefined); // a closed port causes an error; the resolver fails then
  }

  async send({ over, bytes }: DnsExchange): Promise<void> {
    const message = bytesOf(bytes);
    if (over === 'udp')
      return new Promise((resolve) => this.#socket.send(message, PORT, this.#address, () => resolve()));
    const socket = connect(PORT, this.#address);
    socket.on('error', () => undefined); // `close` follows
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.end(message);
    await Promise.race([closed, pause(20)]);
    socket.destroy();
  }

  /** The address of the service that every cluster has. @throws Error when there is no response */
  async ask(): Promise<string> {
    const [address] = await this.#resolver.resolve4('kubernetes.default.svc.cluster.local');
    return address ?? '';
  }

  close(): void {
    this.#socket.close();
    this.#resolver.cancel();
  }
}
