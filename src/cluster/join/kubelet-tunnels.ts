/**
 * The agent's side of tunnels: one to each server, through which the server reaches this node's kubelet if it cannot
 * connect to it. The protocol is in `apiserver/streaming/tunnels/tunnel-protocol.ts`. Not in upstream; modelled on
 * k3s's agents.
 */
import {
  CONNECTION,
  CONNECTION_ID,
  TUNNEL_PATH,
  TUNNEL_PROTOCOL,
} from '../../apiserver/streaming/tunnels/tunnel-protocol.ts';
import { onAbort } from '../../base/abort.ts';
import { createBackoff } from '../../base/backoff.ts';
import { errorMessage } from '../../base/errors.ts';
import { keepAlive } from '../../component-helpers/streaming/heartbeat.ts';
import { joinStreams } from '../../component-helpers/streaming/join-streams.ts';
import { type Clock, sleepUnlessAborted } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { Net, TlsOptions } from '../../platform/net.ts';
import type { Duplex } from '../../platform/streams.ts';
import { background } from '../../platform/unexpected.ts';

export interface KubeletTunnelDeps {
  readonly net: Pick<Net, 'dial' | 'upgrade'>;
  readonly clock: Clock;
  readonly log: Log;
}

export interface KubeletTunnelConfig {
  /** URLs. */
  readonly servers: readonly string[];
  /** The node's client certificate, and the authority of the servers. Called for every connection. */
  readonly tls: () => Promise<TlsOptions>;
  readonly kubelet: { readonly host: string; readonly port: number };
}

const RETRY = { initialMs: 1000, maxMs: 30_000 };
const ANSWER_MS = 10_000;
const DIAL_MS = 5000;
/** Far more than the ids of simultaneous requests need. */
const MAX_LINE = 256;

/** Keeps a tunnel to each server until the signal aborts. Never rejects. */
export async function keepKubeletTunnels(
  deps: KubeletTunnelDeps,
  config: KubeletTunnelConfig,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(config.servers.map((server) => new ServerTunnel(deps, { ...config, server }).keep(signal)));
}

class ServerTunnel {
  readonly #deps: KubeletTunnelDeps;
  readonly #config: KubeletTunnelConfig & { readonly server: string };

  constructor(deps: KubeletTunnelDeps, config: KubeletTunnelConfig & { readonly server: string }) {
    this.#deps = deps;
    this.#config = config;
  }

  async keep(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    const { server } = this.#config;
    const backoff = createBackoff(RETRY);
    let failure = '';
    while (!signal.aborted) {
      try {
        const control = await this.#open('', signal);
        log.info('the tunnel to a server is open', { server });
        failure = '';
        backoff.reset();
        await this.#follow(control, signal);
      } catch (error) {
        if (!signal.aborted && errorMessage(error) !== failure) {
          failure = errorMessage(error);
          log.warn('no tunnel to a server', { server, err: error });
        }
      }
      await sleepUnlessAborted(clock, backoff.nextMs(), signal);
    }
  }

  /** Opens the connections that the server requests, until either side ends. */
  async #follow(control: Duplex, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#deps;
    const { onData, stop } = keepAlive(clock, control);
    const unhook = onAbort(signal, () => control.destroy());
    try {
      let rest = '';
      for await (const chunk of control.incoming) {
        onData();
        const lines = (rest + Buffer.from(chunk).toString('latin1')).split('\n');
        rest = lines.pop() ?? '';
        if (rest.length > MAX_LINE) throw new Error('the server sent a line that is no order');
        for (const id of lines.filter((line) => CONNECTION_ID.test(line)))
          background(log, 'a connection to the kubelet', this.#fetch(id, signal));
      }
    } finally {
      unhook();
      stop();
      control.destroy();
    }
  }

  /** Connects the server's connection with the kubelet. */
  async #fetch(id: string, signal: AbortSignal): Promise<void> {
    const { net, log } = this.#deps;
    try {
      const ordered = await this.#open(`?${CONNECTION}=${id}`, signal);
      try {
        joinStreams(ordered, await net.dial({ ...this.#config.kubelet, timeoutMs: DIAL_MS, signal }));
      } catch (error) {
        ordered.destroy();
        throw error;
      }
    } catch (error) {
      if (!signal.aborted) log.warn('a connection to the kubelet failed', { server: this.#config.server, err: error });
    }
  }

  async #open(query: string, signal: AbortSignal): Promise<Duplex> {
    const answer = await this.#deps.net.upgrade({
      method: 'GET',
      url: `${this.#config.server}${TUNNEL_PATH}${query}`,
      headers: { upgrade: TUNNEL_PROTOCOL },
      tls: await this.#config.tls(),
      headTimeoutMs: ANSWER_MS,
      signal,
    });
    if (answer.status === 101 && 'socket' in answer) return answer.socket;
    if ('cancel' in answer) answer.cancel();
    throw new Error(`the server answered with ${answer.status}`);
  }
}
