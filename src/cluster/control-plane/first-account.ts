/**
 * When the next command works: pods are refused in a namespace that has no service account yet, which a controller makes.
 * So whoever says `kubectl run` right after `keelson up` is not to meet a cluster half-way.
 */
import { ServiceAccounts } from '../../api/gen/resources.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import type { Clock } from '../../platform/clock.ts';

const POLL_MS = 20;
/** Longest wait for the controllers, which may run on another machine or not at all. */
const PATIENCE_MS = 20_000;

/** Resolves when the namespace `default` takes pods, or after twenty seconds; rejects when the signal aborts before. */
export async function whenPodsAreTaken(
  { objects, clock }: { readonly objects: Pick<ObjectStore, 'get'>; readonly clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  const endMs = clock.monotonicMs() + PATIENCE_MS;
  while (objects.get(ServiceAccounts, 'default', 'default') === undefined && clock.monotonicMs() < endMs)
    await clock.sleep(POLL_MS, signal);
}
