/** The line of a connection's requests. */
import type { Socket } from 'node:net';
import { clientLane } from '../client-lane.ts';
import { plainAddress } from './http1.ts';
import { verifiedPeer } from './tls.ts';

/** As `clientLane` says. */
export function laneOf(socket: Socket): string | undefined {
  return clientLane(verifiedPeer(socket), plainAddress(socket.remoteAddress));
}
