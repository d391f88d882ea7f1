/**
 * Waits until pods can be created: they are refused in a namespace without its default service account, which a
 * controller creates. So `kubectl run` works right after `keelson up`.
 */
import { ServiceAccounts } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import type { Clock } from '../../platform/clock.ts';

const POLL_MS = 20;
/** The longest wait for the controllers, which may run on another machine or not at all. */
const PATIENCE_MS = 20_000;

/**
 * Resolves when pods can be created in the namespace `default`, or after twenty seconds; rejects when the signal
 * aborts first.
 */
export async function whenPodsAreTaken(
  { objects, clock }: { readonly objects: Pick<ObjectStore, 'get'>; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const endMs = clock.monotonicMs() + PATIENCE_MS;
  while (objects.get(ServiceAccounts, 'default', 'default') === undefined && clock.monotonicMs() < endMs)
    await clock.sleep(POLL_MS, signal);
}
