/**
 * Datagrams and stream listeners on a simulated network. Datagrams without a receiver are lost; others arrive in
 * order.
 */
import type { Datagrams, DatagramSocket } from '../datagrams.ts';
import type { SimNet, SimNetwork } from './net.ts';

const FIRST_FREE_PORT = 50_000;

/** Joins a host to the datagrams of the network. */
/** The simulated network does not tell listeners the client's address. */
const UNKNOWN_PEER = { address: '', port: 0 } as const;

export function createSimDatagrams(host: { network: SimNetwork; net: SimNet; address: string }): Datagrams {
  const { network, net } = host;
  const receivers = network.datagrams;
  const addressOf = (address: string): string => (/^(0\.0\.0\.0|::|::1|127\.)/.test(address) ? host.address : address);
  return {
    async openDatagrams(at, onMessage): Promise<DatagramSocket> {
      const own = addressOf(at.address);
      let port = at.port || FIRST_FREE_PORT;
      while (at.port === 0 && receivers.has(`${own}:${port}`)) port++;
      const key = `${own}:${port}`;
      if (receivers.has(key)) throw Object.assign(new Error(`bind EADDRINUSE ${key}`), { code: 'EADDRINUSE' });
      receivers.set(key, onMessage);
      return {
        local: { address: own, port },
        send(data, to) {
          const target = addressOf(to.address);
          const copy = data.slice();
          queueMicrotask(() => {
            if (network.reachable(own, target)) receivers.get(`${target}:${to.port}`)?.(copy, { address: own, port });
          });
        },
        async close() {
          receivers.delete(key);
        },
      };
    },
    async listenStreams(at, onConnection) {
      let port = at.port || FIRST_FREE_PORT;
      while (at.port === 0 && network.listeners.has(`${host.address}:${port}`)) port++;
      const close = net.listenRaw(port, (socket) => onConnection(socket, UNKNOWN_PEER));
      return { local: { address: addressOf(at.address), port }, close: async () => close() };
    },
  };
}
