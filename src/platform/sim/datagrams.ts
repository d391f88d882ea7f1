/** Datagrams and stream listeners between simulated hosts. Datagrams arrive in a later microtask, in order, unless nobody listens. */
import type { Datagrams, SocketAddress } from '../datagrams.ts';
import type { SimNet, SimNetwork } from './net.ts';

type OnMessage = (data: Uint8Array, from: SocketAddress) => void;

const firstFreePort = 32_768;
const anyAddress = new Set(['0.0.0.0', '::']);
const loopback = new Set(['127.0.0.1', '::1']);

/** Sockets of all hosts of a network, by `address:port`. */
const socketsOf = new WeakMap<SimNetwork, Map<string, OnMessage>>();

/** Makes the port of a host with these addresses (the first is its own). */
export function createSimDatagrams(net: SimNet, network: SimNetwork, addresses: readonly string[]): Datagrams {
  const sockets = socketsOf.get(network) ?? new Map<string, OnMessage>();
  socketsOf.set(network, sockets);
  const own = addresses[0] ?? '127.0.0.1';
  /** Loopback is each host's own. */
  const scoped = (address: string): string => (loopback.has(address) ? `${own}|${address}` : address);
  const freePort = (isTaken: (port: number) => boolean): number => {
    let port = firstFreePort;
    while (isTaken(port)) port++;
    return port;
  };
  return {
    async openDatagrams(at, onMessage) {
      const bound = anyAddress.has(at.address) ? [own, ...addresses.slice(1), ...loopback].map(scoped) : [scoped(at.address)];
      const port = at.port || freePort((p) => bound.some((address) => sockets.has(`${address}:${p}`)));
      const keys = bound.map((address) => `${address}:${port}`);
      if (keys.some((key) => sockets.has(key))) throw Object.assign(new Error(`bind EADDRINUSE ${at.address}:${port}`), { code: 'EADDRINUSE' });
      for (const key of keys) sockets.set(key, onMessage);
      let open = true;
      return {
        local: { address: at.address, port },
        send(data, to) {
          if (!open || !network.reachable(own, to.address)) return;
          const from = { address: loopback.has(to.address) ? '127.0.0.1' : anyAddress.has(at.address) ? own : at.address, port };
          const copy = Buffer.from(data);
          queueMicrotask(() => sockets.get(`${scoped(to.address)}:${to.port}`)?.(copy, from));
        },
        async close() {
          if (open) for (const key of keys) sockets.delete(key);
          open = false;
        },
      };
    },
    async listenStreams(at, onConnection) {
      const port = at.port || freePort((p) => network.listeners.has(`${own}:${p}`));
      const close = net.listenRaw(port, onConnection);
      return { local: { address: at.address, port }, close: async () => close() };
    },
  };
}
