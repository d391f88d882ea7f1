/**
 * A simulated network: hosts with addresses, HTTP handlers and raw listeners on their ports and unix paths. There are no
 * sockets: a call runs the handler. Calls that meet nobody fail with ECONNREFUSED, cut-off hosts with EHOSTUNREACH.
 */
import { onAbort } from '../../base/abort.ts';
import { parseIp } from '../../base/cidr.ts';
import type { CancelTimer, Clock } from '../clock.ts';
import type { SocketAddress } from '../datagrams.ts';
import type { HttpHandler, ListenHttp, PeerCertificate } from '../http.ts';
import type { Dial, HttpAnswer, HttpCall, HttpUpgrade, Net } from '../net.ts';
import type { Duplex } from '../streams.ts';
import { serveHttpOnDuplex } from './http-on-duplex.ts';
import { callHandler, type Exchange } from './http-exchange.ts';
import { createDuplexPair } from './streams.ts';

/** The machine's own network, as far as a simulated one reaches into it. */
export type RealNet = Pick<Net, 'http' | 'upgrade' | 'dial'>;

/** A port behind which a server on a loopback port of the machine itself answers, in any protocol. */
export interface RealServer {
  readonly net: RealNet;
  /** Throws while it does not listen. */
  port(): number;
}

/** A listener on a port or path. */
type Listener =
  | { readonly http: HttpHandler }
  | { readonly raw: (socket: Duplex) => void }
  | { readonly server: RealServer };

/** The state that several simulated hosts share. */
export interface SimNetwork {
  readonly clock: Clock;
  /** Host names and their addresses. */
  readonly names: Map<string, string>;
  /** Whether a host may reach an address; all may unless this says otherwise. */
  reachable: (fromAddress: string, toAddress: string) => boolean;
  /** The peer of a client certificate (PEM); undefined by default. */
  verifyPeer: (certPem: string) => PeerCertificate | undefined;
  readonly listeners: Map<string, Listener>;
  /** Open datagram sockets by address and port, and what takes their datagrams. */
  readonly datagrams: Map<string, (data: Uint8Array, from: SocketAddress) => void>;
}

/** The network as one host sees it. */
export interface SimNet extends Net {
  /** Opens an HTTP server; a `ListenHttp`. */
  readonly listenHttp: ListenHttp;
  /** Opens an HTTP server on a unix path of this host. Returns how to close it. */
  listenUnix(path: string, handler: HttpHandler): () => void;
  /** Accepts raw connections on a port of this host. Returns how to close it. */
  listenRaw(port: number, accept: (socket: Duplex) => void): () => void;
}

const LOOPBACK_NAMES = new Set(['127.0.0.1', 'localhost', '::1', '[::1]', '0.0.0.0', '::', '[::]']);
const FIRST_FREE_PORT = 40_000;

/** Makes a network without hosts. */
export function createSimNetwork(clock: Clock): SimNetwork {
  return {
    clock,
    names: new Map(),
    reachable: () => true,
    verifyPeer: () => undefined,
    listeners: new Map(),
    datagrams: new Map(),
  };
}

/**
 * Joins a host with these addresses (the first is its own in calls) to the network. `loopback` answers HTTP calls to the
 * host itself where nothing simulated listens.
 */
export function createSimNet(network: SimNetwork, addresses: readonly string[], loopback?: RealNet): SimNet {
  const own = addresses[0] ?? '127.0.0.1';
  const keyOf = (host: string, port: number): string =>
    LOOPBACK_NAMES.has(host) || addresses.includes(host)
      ? `${own}:${port}`
      : `${network.names.get(host) ?? host}:${port}`;
  const register = (key: string, listener: Listener): (() => void) => {
    if (network.listeners.has(key)) throw coded('EADDRINUSE', `listen EADDRINUSE: address already in use ${key}`);
    network.listeners.set(key, listener);
    return () => void (network.listeners.get(key) === listener && network.listeners.delete(key));
  };
  const find = (target: { unixPath?: string | undefined; host: string; port: number }): Listener => {
    const key = target.unixPath === undefined ? keyOf(target.host, target.port) : `${own}|${target.unixPath}`;
    const address = key.slice(0, key.lastIndexOf(':'));
    if (target.unixPath === undefined && address !== own && !network.reachable(own, address)) {
      throw coded('EHOSTUNREACH', `connect EHOSTUNREACH ${key}`);
    }
    const listener = network.listeners.get(key);
    if (listener !== undefined) return listener;
    throw target.unixPath === undefined
      ? coded('ECONNREFUSED', `connect ECONNREFUSED ${key}`)
      : coded('ENOENT', `connect ENOENT ${target.unixPath}`);
  };
  const isBeyond = ({ url, unixPath }: HttpCall): boolean => {
    if (loopback === undefined || unixPath !== undefined) return false;
    const { hostname, port, protocol } = new URL(url);
    return LOOPBACK_NAMES.has(hostname) && !network.listeners.has(`${own}:${portOf(port, protocol)}`);
  };
  const call = (request: HttpCall, wantsUpgrade: boolean): Promise<HttpAnswer | HttpUpgrade> =>
    withDeadline(network.clock, request, async (limited) => {
      const url = new URL(request.url);
      const port = portOf(url.port, url.protocol);
      const listener = find({ unixPath: request.unixPath, host: url.hostname, port });
      if ('server' in listener) return throughServer(listener.server, limited, wantsUpgrade);
      if (!('http' in listener)) throw coded('ECONNRESET', 'the peer does not speak HTTP');
      const peerCertificate = request.tls?.certPem === undefined ? undefined : network.verifyPeer(request.tls.certPem);
      return callHandler(listener.http, limited, { remoteAddress: own, peerCertificate, wantsUpgrade });
    });
  return {
    http: (request) => (isBeyond(request) ? loopback!.http(request) : call(request, false)) as Promise<HttpAnswer>,
    upgrade: (request) => (isBeyond(request) ? loopback!.upgrade(request) : call(request, true)),
    async lookup(host) {
      const address = LOOPBACK_NAMES.has(host) ? '127.0.0.1' : (network.names.get(host) ?? host);
      if (parseIp(address) === undefined) throw coded('ENOTFOUND', `getaddrinfo ENOTFOUND ${host}`);
      return [address];
    },
    async dial(target: Dial) {
      target.signal?.throwIfAborted();
      const listener = find({ unixPath: target.unixPath, host: target.host ?? '127.0.0.1', port: target.port ?? 0 });
      if ('server' in listener) {
        const { net, port } = listener.server;
        return net.dial({ ...target, host: '127.0.0.1', port: port() });
      }
      const [client, server] = createDuplexPair();
      if ('raw' in listener) listener.raw(server);
      else {
        const peerCertificate = target.tls?.certPem === undefined ? undefined : network.verifyPeer(target.tls.certPem);
        void serveHttpOnDuplex(listener.http, server, { remoteAddress: own, peerCertificate });
      }
      return client;
    },
    interfaces: () => interfacesOf(addresses),
    listenUnix: (path, handler) => register(`${own}|${path}`, { http: handler }),
    listenRaw: (port, accept) => register(`${own}:${port}`, { raw: accept }),
    async listenHttp(options, handler) {
      let port = options.port || FIRST_FREE_PORT;
      while (options.port === 0 && network.listeners.has(keyOf('localhost', port))) port++;
      const running = new Set<AbortController>();
      const close = register(keyOf('localhost', port), { http: tracked(handler, running) });
      return {
        port,
        setCertificate: () => undefined,
        async close() {
          close();
          for (const controller of running) controller.abort(coded('ECONNRESET', 'the server was closed'));
        },
      };
    },
  };
}

const OVER: Promise<void> = Promise.resolve();

/** The same call to the server's own address; its certificate is held against the name that was called. */
async function throughServer({ net, port }: RealServer, call: HttpCall, wantsUpgrade: boolean): Promise<Exchange> {
  const url = new URL(call.url);
  const { host, hostname } = url;
  url.host = `127.0.0.1:${port()}`;
  // No certificate is asked for by an address.
  const named = url.protocol === 'https:' && parseIp(hostname) === undefined;
  const tls = named ? { serverName: hostname, ...call.tls } : call.tls;
  const request = { ...call, url: url.href, headers: { host, ...call.headers }, tls };
  return { answer: wantsUpgrade ? await net.upgrade(request) : await net.http(request), over: OVER };
}

/** Requests that are still running when the server closes are aborted. */
function tracked(handler: HttpHandler, running: Set<AbortController>): HttpHandler {
  return async (request) => {
    const controller = new AbortController();
    onAbort(request.signal, () => controller.abort(request.signal.reason));
    running.add(controller);
    const response = await handler({ ...request, signal: controller.signal });
    if (response.kind !== 'stream') {
      running.delete(controller);
      return response;
    }
    const run = async (sink: Parameters<typeof response.run>[0]): Promise<void> => {
      try {
        await response.run(sink);
      } finally {
        running.delete(controller);
      }
    };
    return { ...response, run };
  };
}

function portOf(port: string, protocol: string): number {
  return Number(port || (protocol === 'https:' ? 443 : 80));
}

async function withDeadline(
  clock: Clock,
  call: HttpCall,
  start: (call: HttpCall) => Promise<Exchange>,
): Promise<HttpAnswer | HttpUpgrade> {
  call.signal?.throwIfAborted();
  const controller = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (reason: unknown): void => {
    controller.abort(reason);
    reject(reason);
  };
  const unhook = onAbort(call.signal, () => stop(call.signal!.reason));
  const limit = (ms: number | undefined): CancelTimer | undefined =>
    ms === undefined ? undefined : clock.setTimer(ms, () => stop(coded('ETIMEDOUT', `timed out after ${ms} ms`)));
  const cancelHead = limit(call.headTimeoutMs);
  const cancelWhole = limit(call.timeoutMs);
  try {
    const { answer, over } = await Promise.race([start({ ...call, signal: controller.signal }), promise]);
    promise.catch(() => undefined); // the response's body rejects when the call is aborted later
    if ('socket' in answer) cancelWhole?.();
    void over.then(() => {
      unhook();
      cancelWhole?.();
    });
    return answer;
  } catch (error) {
    unhook();
    cancelWhole?.();
    throw error;
  } finally {
    cancelHead?.();
  }
}

function interfacesOf(addresses: readonly string[]): ReturnType<Net['interfaces']> {
  const outer = addresses.map((address, index) => {
    const family = address.includes(':') ? (6 as const) : (4 as const);
    return { name: `eth${index}`, address, family, internal: false, cidr: `${address}/${family === 4 ? 24 : 64}` };
  });
  return [{ name: 'lo', address: '127.0.0.1', family: 4, internal: true, cidr: '127.0.0.1/8' }, ...outer];
}

function coded(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
