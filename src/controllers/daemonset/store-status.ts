/** Writes the status of a DaemonSet. Upstream: storeDaemonSetStatus. */
import type { DaemonSet, DaemonSetStatus } from '../../api/gen/apps-v1.ts';
import { DaemonSets } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import type { Clock } from '../../platform/clock.ts';

/** Nothing is written for an equal status, or once another set has the name. */
export async function storeDaemonSetStatus(
  { client, clock }: { readonly client: Client; readonly clock: Clock },
  { set, status }: { readonly set: Stored<DaemonSet>; readonly status: DaemonSetStatus },
  signal: AbortSignal,
): Promise<void> {
  let current = set;
  await retryOnConflict(
    clock,
    async () => {
      if (current.metadata.uid !== set.metadata.uid || equalStatus(status, current.status)) return;
      try {
        await client.resource(DaemonSets).updateStatus({ ...current, status }, { signal });
      } catch (error) {
        if (isReason(error, 'Conflict'))
          current = await client.resource(DaemonSets).get(parseKey(keyOfObject(set)), { signal });
        throw error;
      }
    },
    signal,
  );
}
