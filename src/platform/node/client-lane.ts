/** In which line the requests of a client wait for their turn of the event loop. */
import type { Socket } from 'node:net';
import { plainAddress } from './http1.ts';
import { verifiedPeer } from './tls.ts';

/** The requests of nodes, components and administrators wait with the cluster's own work, all others by address. */
export function laneOf(socket: Socket): string | undefined {
  return verifiedPeer(socket) === undefined ? plainAddress(socket.remoteAddress) : undefined;
}
