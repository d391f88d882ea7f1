/** The flow in which a client's requests wait for their turn of the event loop. */
import type { PeerCertificate } from './http.ts';

/**
 * Undefined for nodes, components and administrators, which share the cluster's own flow; for other users with
 * certificates their name, for everybody else the address.
 */
export function clientFlow(peer: PeerCertificate | undefined, address: string): string | undefined {
  if (peer === undefined) return address;
  const { commonName, organizations } = peer;
  const isOwn = commonName.startsWith('system:') || organizations.some((name) => name === 'system:masters');
  return isOwn ? undefined : `user ${commonName}`;
}
