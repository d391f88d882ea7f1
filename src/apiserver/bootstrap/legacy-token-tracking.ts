/**
 * A ConfigMap with the first day on which this cluster recorded the last use of legacy service-account tokens. The token cleaner
 * takes a missing record for no use only after that day. Upstream: controlplane/controller/legacytokentracking.
 */
import { ConfigMaps } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import { startOfDayMs, TOKEN_TRACKING, TRACKED_SINCE } from '../../component-helpers/token-secrets.ts';
import type { ObjectStore } from '../registry/object-store.ts';

/** Writes today where there is no day yet; a day that is there stays. */
export async function ensureTokenTracking(objects: ObjectStore, nowMs: number): Promise<void> {
  const { namespace, name } = TOKEN_TRACKING;
  const data = { [TRACKED_SINCE]: formatTime(nowMs).slice(0, 10) };
  const wanted = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data };
  const there = await objects.ensure(ConfigMaps, wanted);
  if (startOfDayMs(there.data?.[TRACKED_SINCE]) !== undefined) return;
  await objects.guaranteedUpdate(ConfigMaps, namespace, name, (now) => ({ ...now, data }));
}
