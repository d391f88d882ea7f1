/** In which line the requests of a client wait for their turn of the event loop. */
import type { PeerCertificate } from './http.ts';

/**
 * Those of nodes, components and administrators wait with the cluster's own work (undefined), people with certificates by
 * their name, all others by address.
 */
export function clientLane(peer: PeerCertificate | undefined, address: string): string | undefined {
  if (peer === undefined) return address;
  const { commonName, organizations } = peer;
  const isOwn = commonName.startsWith('system:') || organizations.some((name) => name === 'system:masters');
  return isOwn ? undefined : `user ${commonName}`;
}
