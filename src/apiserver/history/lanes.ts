/** Which keys are recorded, and which lane's share of the size they use. */
import type { HistoryLane } from '../../storage/history-log.ts';

const LEASES = '/registry/leases/';
const NODE_LEASES = `${LEASES}kube-node-lease/`;
/** API servers' identities (`bootstrap/identity-lease.ts`). */
const SERVER_LEASE = /^\/registry\/leases\/kube-system\/apiserver-[0-9a-z]{26}$/;

/** The leases of API servers (`bootstrap/identity-lease.ts`). */
export function laneOf(key: string): HistoryLane | undefined {
  if (key.includes('\0')) return undefined; // not a key of an object; it could be parsed in two ways
  if (key.startsWith('/registry/events/')) return 'events';
  if (!key.startsWith(LEASES)) return 'objects';
  return key.startsWith(NODE_LEASES) || SERVER_LEASE.test(key) ? undefined : 'events';
}
