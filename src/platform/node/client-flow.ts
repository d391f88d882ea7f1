/** Assigns a connection's requests to the flow of its client. */
import type { Socket } from 'node:net';
import { clientFlow } from '../client-flow.ts';
import { plainAddress } from './http1.ts';
import { verifiedPeer } from './tls.ts';

/** Implements `clientFlow` for sockets of Node.js. */
export function flowOf(socket: Socket): string | undefined {
  return clientFlow(verifiedPeer(socket), plainAddress(socket.remoteAddress));
}
