/** UDP sockets and plain TCP listeners of this machine. */
import { createSocket } from 'node:dgram';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { Datagrams } from '../datagrams.ts';
import type { Log } from '../log.ts';
import { guarded } from '../unexpected.ts';
import { duplexOf } from './streams.ts';

/** Requested from the kernel, which may grant less: bursts must not be lost while this process is busy. */
const RECEIVE_BUFFER_BYTES = 2 * 1024 * 1024;

/** The real port. An exception of a handler loses only its datagram or connection. */
export function createNodeDatagrams(log: Log): Datagrams {
  return {
    openDatagrams: (at, onMessage) => openDatagrams(at, guarded(log, 'a datagram handler threw', onMessage)),
    listenStreams: (at, onConnection) =>
      listenStreams(at, (connection, from) => {
        try {
          onConnection(connection, from);
        } catch (error) {
          connection.destroy();
          log.unexpected('a connection handler threw', error);
        }
      }),
  };
}

const openDatagrams: Datagrams['openDatagrams'] = async (at, onMessage) => {
  const family = at.address.includes(':') ? 6 : 4;
  const socket = createSocket({
    type: `udp${family}`,
    recvBufferSize: RECEIVE_BUFFER_BYTES,
    // Addresses are never names here; Node's own look-up costs a turn of the loop per datagram.
    lookup: (address, _options, found) => found(null, address, family),
  });
  await new Promise<void>((resolve, reject) => {
    const fail = (error: Error): void => {
      socket.close();
      reject(error);
    };
    socket.once('error', fail);
    socket.bind({ address: at.address, port: at.port, exclusive: true }, () => {
      socket.off('error', fail);
      resolve();
    });
  });
  socket.on('error', () => undefined); // datagrams may be lost anyhow
  socket.on('message', onMessage);
  const { address, port } = socket.address();
  let open = true;
  return {
    local: { address, port },
    send(data, to) {
      if (open) socket.send(data, to.port, to.address);
    },
    close() {
      if (!open) return Promise.resolve();
      open = false;
      return new Promise((resolve) => socket.close(() => resolve()));
    },
  };
};

const listenStreams: Datagrams['listenStreams'] = async (at, onConnection) => {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    onConnection(duplexOf(socket), { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: at.address, port: at.port, backlog: 511 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', () => undefined); // a connection that could not be accepted, for want of descriptors
  const { address, port } = server.address() as AddressInfo;
  return {
    local: { address, port },
    close() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
};
