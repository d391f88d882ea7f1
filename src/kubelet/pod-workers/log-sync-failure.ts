import type { Pod } from '../../api/gen/core-v1.ts';
import type { Log } from '../../platform/log.ts';
import { isProgramError } from '../../platform/unexpected.ts';
import { podFields } from '../types/pod-update.ts';

/** Logs a failed sync. `pod` is absent for a pod that is no longer desired. */
export function logSyncFailure(
  log: Log,
  { uid, pod }: { readonly uid: string; readonly pod: Pod | undefined },
  error: unknown,
): void {
  const fields = pod === undefined ? { podUID: uid } : podFields(pod);
  if (isProgramError(error)) log.unexpected('Error syncing pod, skipping', error, fields);
  else log.error('Error syncing pod, skipping', { ...fields, err: error });
}
