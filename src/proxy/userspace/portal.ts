/**
 * A portal: a random local port in this process whose connections or datagrams go to a service port's endpoints in
 * turn. Upstream: pkg/proxy/userspace/proxysocket.go (until 1.25).
 */
import { joinStreams } from '../../component-helpers/streaming/join-streams.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { background, logFailure } from '../../platform/unexpected.ts';
import type { DatagramSocket, Datagrams, SocketAddress } from '../../platform/datagrams.ts';
import type { Net } from '../../platform/net.ts';
import type { Duplex } from '../../platform/streams.ts';
import { createBalancer, type Balancer } from './balancer.ts';

/** An open port. */
export interface Portal {
  readonly port: number;
  readonly balancer: Balancer;
  /** UDP clients whose endpoint is not among these choose again. */
  keep(serving: readonly string[]): void;
  /** Ends the portal with its connections. */
  close(): Promise<void>;
}

export interface PortalDeps {
  readonly net: Net;
  readonly datagrams: Datagrams;
  readonly clock: Clock;
  readonly log: Log;
}

const DIAL_TIMEOUT_MS = 2_000;
const DIAL_TRIES = 4;
/** Upstream's was 250 ms, which is shorter than many responses take. */
const UDP_IDLE_MS = 10_000;
const ANY = { 4: '0.0.0.0', 6: '::' } as const;

/** Opens a port of this protocol on all addresses. */
export function openPortal(deps: PortalDeps, protocol: 'tcp' | 'udp', family: 4 | 6): Promise<Portal> {
  return protocol === 'tcp' ? openStreams(deps, ANY[family]) : openDatagrams(deps, ANY[family]);
}

async function openStreams(deps: PortalDeps, address: string): Promise<Portal> {
  const balancer = createBalancer();
  const listener = await deps.datagrams.listenStreams({ address, port: 0 }, (connection, from) => {
    serve(deps, balancer, { connection, from }).catch((error: unknown) => {
      connection.destroy();
      logFailure(deps.log, 'a connection to a service broke off', error);
    });
  });
  return { port: listener.local.port, balancer, keep: () => undefined, close: () => listener.close() };
}

async function serve(
  { net, clock }: PortalDeps,
  balancer: Balancer,
  { connection, from }: { readonly connection: Duplex; readonly from: SocketAddress },
): Promise<void> {
  for (let attempt = 0; attempt < DIAL_TRIES; attempt++) {
    const target = balancer.next(from.address, clock.monotonicMs(), attempt > 0);
    if (target === undefined) break;
    const backend = await net
      .dial({ host: target.address, port: target.port, timeoutMs: DIAL_TIMEOUT_MS })
      .catch(() => undefined);
    if (backend === undefined) continue; // the next endpoint may answer
    return joinStreams(connection, backend);
  }
  connection.destroy();
}

interface UdpClient {
  readonly socket: Promise<DatagramSocket>;
  readonly target: SocketAddress;
  lastMs: number;
}

async function openDatagrams({ datagrams, clock, log }: PortalDeps, address: string): Promise<Portal> {
  const balancer = createBalancer();
  const clients = new Map<string, UdpClient>();
  const front: DatagramSocket = await datagrams.openDatagrams({ address, port: 0 }, (data, from) => {
    const key = `${from.address} ${from.port}`;
    const nowMs = clock.monotonicMs();
    let client = clients.get(key);
    if (client === undefined) {
      const target = balancer.next(from.address, nowMs);
      if (target === undefined) return;
      const answer = (reply: Uint8Array): void => {
        const udpClient = clients.get(key);
        if (udpClient !== undefined) udpClient.lastMs = clock.monotonicMs();
        front.send(reply, from);
      };
      client = { socket: datagrams.openDatagrams({ address, port: 0 }, answer), target, lastMs: nowMs };
      clients.set(key, client);
    }
    client.lastMs = nowMs;
    const { socket, target } = client;
    socket.then(
      (open) => open.send(data, target),
      (error: unknown) => {
        clients.delete(key); // datagrams may be lost
        logFailure(log, 'no socket for a client of a service', error);
      },
    );
  });
  /** Never rejects; a socket that could not be opened was logged by its opener. */
  const drop = async (key: string, client: UdpClient): Promise<void> => {
    clients.delete(key);
    const socket = await client.socket.catch(() => undefined);
    await socket?.close().catch((error: unknown) => log.unexpected('a socket could not be closed', error));
  };
  const dropSoon = (key: string, client: UdpClient): void => {
    background(log, 'a client of a service could not be dropped', drop(key, client));
  };
  const stopTicker = clock.setTicker(UDP_IDLE_MS / 2, () => {
    for (const [key, client] of clients) if (clock.monotonicMs() - client.lastMs >= UDP_IDLE_MS) dropSoon(key, client);
  });
  return {
    port: front.local.port,
    balancer,
    keep(serving) {
      for (const [key, client] of clients) if (!serving.includes(client.target.address)) dropSoon(key, client);
    },
    async close() {
      stopTicker();
      await Promise.all([...clients].map(([key, client]) => drop(key, client)));
      await front.close();
    },
  };
}
