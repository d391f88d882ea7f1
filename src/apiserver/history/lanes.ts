/** Which keys are recorded, and in whose share of the size. */
import type { HistoryLane } from '../../storage/history-log.ts';

const LEASES = '/registry/leases/';
const NODE_LEASES = `${LEASES}kube-node-lease/`;
/** API servers' identities (`bootstrap/identity-lease.ts`). */
const SERVER_LEASE = /^\/registry\/leases\/kube-system\/apiserver-[0-9a-z]{26}$/;

/** The lane of a key; undefined: its changes are not recorded. */
export function laneOf(key: string): HistoryLane | undefined {
  if (key.includes('\0')) return undefined; // No object of ours; it could not be told from two keys.
  if (key.startsWith('/registry/events/')) return 'events';
  if (!key.startsWith(LEASES)) return 'objects';
  return key.startsWith(NODE_LEASES) || SERVER_LEASE.test(key) ? undefined : 'events';
}
