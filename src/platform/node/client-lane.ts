/** Assigns a connection's requests to the lane of its client. */
import type { Socket } from 'node:net';
import { clientLane } from '../client-lane.ts';
import { plainAddress } from './http1.ts';
import { verifiedPeer } from './tls.ts';

/** Implements `clientLane` for sockets of Node.js. */
export function laneOf(socket: Socket): string | undefined {
  return clientLane(verifiedPeer(socket), plainAddress(socket.remoteAddress));
}
