/** The port for servers without HTTP: datagrams and plain streams. Used by the cluster's DNS and by health checks. */
import type { Duplex } from './streams.ts';

/** A host and a port. */
export interface SocketAddress {
  readonly address: string;
  readonly port: number;
}

/** An open datagram socket. */
export interface DatagramSocket {
  readonly local: SocketAddress;
  /** Sends; network errors are not reported, since datagrams may be lost anyway. */
  send(data: Uint8Array, to: SocketAddress): void;
  close(): Promise<void>;
}

/** Opens sockets. Both reject with Node's codes (EADDRINUSE, EACCES, EADDRNOTAVAIL). Port 0 chooses a free one. */
export interface Datagrams {
  openDatagrams(at: SocketAddress, onMessage: (data: Uint8Array, from: SocketAddress) => void): Promise<DatagramSocket>;
  listenStreams(
    at: SocketAddress,
    onConnection: (connection: Duplex, from: SocketAddress) => void,
  ): Promise<{ readonly local: SocketAddress; close(): Promise<void> }>;
}
