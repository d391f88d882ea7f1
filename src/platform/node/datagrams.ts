/** UDP sockets and plain TCP listeners. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { type AddressInfo, createServer, isIPv6, type Socket } from 'node:net';
import type { Datagrams, DatagramSocket, SocketAddress } from '../datagrams.ts';
import { duplexOf } from './streams.ts';

/** Makes the datagram port of this process. */
export function createNodeDatagrams(): Datagrams {
  return { openDatagrams, listenStreams };
}

async function openDatagrams(
  at: SocketAddress,
  onMessage: (data: Uint8Array, from: SocketAddress) => void,
): Promise<DatagramSocket> {
  const socket: UdpSocket = createSocket(isIPv6(at.address) ? 'udp6' : 'udp4');
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.bind(at.port, at.address, () => {
      socket.off('error', reject);
      resolve();
    });
  });
  socket.on('error', () => undefined); // an unreachable peer is as good as a lost datagram
  socket.on('message', (data, { address, port }) => onMessage(data, { address, port }));
  const { address, port } = socket.address();
  return {
    local: { address, port },
    send: (data, to) => socket.send(data, to.port, to.address, () => undefined),
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

const listenStreams: Datagrams['listenStreams'] = async (at, onConnection) => {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    onConnection(duplexOf(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(at.port, at.address, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { address, port } = server.address() as AddressInfo;
  return {
    local: { address, port },
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      return closed;
    },
  };
};
