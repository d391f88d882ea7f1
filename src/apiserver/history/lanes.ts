/** Which keys are recorded, and in whose share of the size. */
import type { HistoryLane } from '../../storage/history-log.ts';

/** The lane of a key; undefined: its changes are not recorded. */
export function laneOf(key: string): HistoryLane | undefined {
  if (key.includes('\0')) return undefined; // No object of ours; it could not be told from two keys.
  if (key.startsWith('/registry/events/')) return 'events';
  if (!key.startsWith('/registry/leases/')) return 'objects';
  return key.startsWith('/registry/leases/kube-node-lease/') ? undefined : 'events';
}
