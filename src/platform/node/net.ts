/** Connects to servers: raw and TLS connections, and an HTTP/1.1 client with keep-alive per TLS identity. */
import * as http from 'node:http';
import * as https from 'node:https';
import { lookup } from 'node:dns/promises';
import { connect, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { connect as connectTls } from 'node:tls';
import { Lru } from '../../base/lru.ts';
import type { Dial, HttpCall, Net } from '../net.ts';
import type { Duplex } from '../streams.ts';
import { duplexOf } from './streams.ts';
import { tlsOptions, waitFor } from './client-connection.ts';
import { exchange, upgrade } from './http-exchange.ts';

/** How many TLS identities have kept-alive connections. */
const MAX_IDENTITIES = 64;
/** Less than the 90 s after which servers close idle connections. */
const IDLE_SOCKET_MS = 60_000;

/** The network port, and the end of its kept connections. */
export interface NodeNet extends Net {
  /** Closes idle connections; running calls continue. */
  close(): void;
}

/** Makes the network port of this process. */
export function createNodeNet(): NodeNet {
  const plain = new http.Agent({ keepAlive: true, timeout: IDLE_SOCKET_MS });
  const agents = new Lru<string, https.Agent>(MAX_IDENTITIES, (_key, agent) => retire(agent));
  const agentFor = (call: HttpCall): http.Agent => {
    if (!call.url.startsWith('https:')) return plain;
    // Without the server's name, of which there is one per node behind a tunnel: an agent separates them itself.
    const identity = { ...call.tls, serverName: undefined };
    const key = JSON.stringify(identity);
    let agent = agents.get(key);
    if (agent === undefined) {
      agent = new https.Agent({ keepAlive: true, timeout: IDLE_SOCKET_MS, ...tlsOptions(identity) });
      agents.set(key, agent);
    }
    return agent;
  };
  return {
    dial,
    http: (call) => exchange(call, agentFor(call)),
    upgrade: (call) => upgrade(call),
    lookup: async (host) => (await lookup(host, { all: true })).map(({ address }) => address),
    interfaces,
    close() {
      plain.destroy();
      agents.clear();
    },
  };
}

/** Closes idle connections at once and others after their calls. */
function retire(agent: https.Agent): void {
  // Node.js reads it when a call ends; its types lack it.
  Object.assign(agent, { keepAlive: false });
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
}

async function dial(target: Dial): Promise<Duplex> {
  target.signal?.throwIfAborted();
  const where =
    target.unixPath === undefined
      ? { host: target.host ?? '127.0.0.1', port: target.port ?? 0 }
      : { path: target.unixPath };
  const socket: Socket =
    target.tls === undefined
      ? connect({ ...where, allowHalfOpen: true })
      : connectTls({ ...where, ...tlsOptions(target.tls) });
  await waitFor(socket, target, (resolve) =>
    socket.once(target.tls === undefined ? 'connect' : 'secureConnect', resolve),
  );
  return duplexOf(socket);
}

function interfaces(): ReturnType<Net['interfaces']> {
  return Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    (addresses ?? []).map(({ address, family, internal, cidr }) => ({
      name,
      address,
      family: family === 'IPv6' ? (6 as const) : (4 as const),
      internal,
      cidr: cidr ?? '',
    })),
  );
}
