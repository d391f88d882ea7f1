/**
 * Deletes the content of terminating namespaces, then finalizes them. Upstream: syncNamespaceFromKey in
 * pkg/controller/namespace.
 *
 * Watches: namespaces. Writes alone: the conditions and the `kubernetes` finalizer of terminating namespaces. Differs
 * on purpose: checks again after 0.25 s, growing to 15 s, instead of waiting for half of the pods' grace period.
 */
import { deepEqual } from '../../base/equal.ts';
import { Namespaces } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Namespace } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';
import { deletionConditions } from './conditions.ts';
import { deleteContent, type ContentReport } from './content.ts';

const ACCOUNT = 'namespace-controller';
const WORKERS = 10;
const FINALIZER = 'kubernetes';
const FIRST_RECHECK_MS = 250;
const MAX_RECHECK_MS = 15_000;
/** Upstream's nsControllerRateLimiter: whatever blocks a namespace is often repaired from outside. */
const MAX_RETRY_MS = 60_000;

export function createNamespaceController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT);
  const namespaces = client.resource(Namespaces);
  const informer = deps.informers.informer(Namespaces);
  const rechecks = new Map<string, number>();

  const loop = createKeyedLoop(deps, {
    name: 'namespace-controller',
    queueName: 'namespace',
    workers: WORKERS,
    maxRetryMs: MAX_RETRY_MS,
    informers: informerList(informer),
    sync: syncNamespace,
  });

  async function syncNamespace(name: string, signal: AbortSignal): Promise<void> {
    const cached = informer.get({ name });
    if (cached?.metadata.deletionTimestamp === undefined) {
      rechecks.delete(name);
      return;
    }
    if (!(cached.spec?.finalizers ?? []).includes(FINALIZER)) return;
    const report = await deleteContent(client, name, signal);
    try {
      await writeConditions(cached, report, signal);
      if (report.failures[0] !== undefined) throw report.failures[0].error;
      if (report.stale.length > 0) throw new Error(`discovery failed for ${report.stale.join(', ')}`);
      if (report.remaining.size > 0) return recheck(name);
      await finalize(name, cached, signal);
      rechecks.delete(name);
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
      rechecks.delete(name);
    }
  }

  function recheck(name: string): void {
    const count = rechecks.get(name) ?? 0;
    rechecks.set(name, count + 1);
    loop.queue.addAfter(name, Math.min(FIRST_RECHECK_MS * 2 ** count, MAX_RECHECK_MS));
  }

  async function writeConditions(cached: Stored<Namespace>, report: ContentReport, signal: AbortSignal): Promise<void> {
    const name = cached.metadata.name;
    let current = cached;
    await retryOnConflict(
      clock,
      async () => {
        if (current.metadata.uid !== cached.metadata.uid) return;
        const conditions = deletionConditions(current.status?.conditions, report, clock.nowMs());
        const unchanged =
          current.status?.phase === 'Terminating' && deepEqual(conditions, current.status.conditions ?? []);
        if (unchanged) return;
        try {
          const status = {
            ...current.status,
            phase: 'Terminating',
            ...(conditions.length === 0 ? {} : { conditions }),
          };
          await namespaces.updateStatus({ ...current, status }, { signal });
        } catch (error) {
          if (isReason(error, 'Conflict')) current = await namespaces.get({ name }, { signal });
          throw error;
        }
      },
      signal,
    );
  }

  /** PUT on the finalize sub-resource, the only place that may change a namespace's spec.finalizers. */
  async function finalize(name: string, cached: Namespace, signal: AbortSignal): Promise<void> {
    await retryOnConflict(
      clock,
      async () => {
        const live = await namespaces.get({ name }, { signal });
        if (live.metadata.uid !== cached.metadata.uid) return;
        const finalizers = (live.spec?.finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER);
        await namespaces.update({ ...live, spec: { ...live.spec, finalizers } }, { subresource: 'finalize', signal });
      },
      signal,
    );
  }

  const enqueue = (namespace: Stored<Namespace>): void => {
    if (namespace.metadata.deletionTimestamp !== undefined) loop.queue.add(namespace.metadata.name);
  };
  informer.addHandler({
    onAdd: enqueue,
    onUpdate: (_, namespace) => enqueue(namespace),
    onDelete: (namespace) => rechecks.delete(namespace.metadata.name),
  });
  return loop;
}
