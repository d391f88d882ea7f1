/**
 * The tunnel of one node: a loopback port whose connections the node's agent joins to its kubelet. The rest of the
 * server dials that port.
 */
import { keepAlive } from '../../../component-helpers/streaming/heartbeat.ts';
import type { CancelTimer, Clock } from '../../../platform/clock.ts';
import type { Datagrams } from '../../../platform/datagrams.ts';
import type { Random } from '../../../platform/random.ts';
import type { Duplex } from '../../../platform/streams.ts';

export interface NodeTunnelDeps {
  readonly clock: Clock;
  readonly datagrams: Datagrams;
  /** For ids, which are secret like tokens. */
  readonly random: Random;
}

/** The time limit for the agent to fetch a connection. */
const FETCH_MS = 10_000;
/** The most connections waiting for their agent; further ones are dropped. */
const MAX_WAITING = 128;
const ID_BYTES = 16;

interface Waiting {
  readonly client: Duplex;
  readonly cancel: CancelTimer;
}

export class NodeTunnel {
  readonly #deps: NodeTunnelDeps;
  /** The agent's connection, which receives the ids to fetch. */
  readonly #agent: Duplex;
  readonly #waiting = new Map<string, Waiting>();
  #listener: Awaited<ReturnType<Datagrams['listenStreams']>> | undefined;

  constructor(deps: NodeTunnelDeps, agent: Duplex) {
    this.#deps = deps;
    this.#agent = agent;
  }

  /** The loopback port; undefined before `open` and after the end. */
  get port(): number | undefined {
    return this.#listener?.local.port;
  }

  async open(): Promise<void> {
    const at = { address: '127.0.0.1', port: 0 };
    this.#listener = await this.#deps.datagrams.listenStreams(at, (client) => this.#order(client));
  }

  /** Resolves when the agent's connection has ended and the port is closed. */
  async run(): Promise<void> {
    const { onData, stop } = keepAlive(this.#deps.clock, this.#agent);
    try {
      for await (const _chunk of this.#agent.incoming) onData();
    } catch {
      // The agent disconnected; it reconnects by itself.
    } finally {
      stop();
      await this.close();
    }
  }

  /** The connection with this id, which can be fetched once. */
  take(id: string): Duplex | undefined {
    const found = this.#waiting.get(id);
    this.#forget(id);
    return found?.client;
  }

  /** Ends the tunnel with its connections. */
  async close(): Promise<void> {
    const listener = this.#listener;
    this.#listener = undefined;
    this.#agent.destroy();
    for (const { client } of this.#waiting.values()) client.destroy();
    await listener?.close();
  }

  #order(client: Duplex): void {
    if (this.#waiting.size >= MAX_WAITING) {
      client.destroy();
      return;
    }
    const id = Buffer.from(this.#deps.random.bytes(ID_BYTES)).toString('hex');
    const cancel = this.#deps.clock.setTimer(FETCH_MS, () => client.destroy());
    this.#waiting.set(id, { client, cancel });
    const forget = (): void => this.#forget(id);
    client.closed.then(forget, forget);
    this.#agent.write(`${id}\n`).catch(() => client.destroy());
  }

  #forget(id: string): void {
    this.#waiting.get(id)?.cancel();
    this.#waiting.delete(id);
  }
}
