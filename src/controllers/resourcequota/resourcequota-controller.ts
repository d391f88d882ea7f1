/**
 * Counts what namespaces use against their quotas. Upstream: pkg/controller/resourcequota.
 *
 * Watches: ResourceQuotas and the kinds they count. Writes: ResourceQuota status, which admission raises and this loop alone
 * lowers. Recalculates when a quota changes, when something counted goes, and every five minutes.
 */
import { DeviceClasses, Pods, ResourceClaims, ResourceQuotas } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import { deepEqual } from '../../base/equal.ts';
import type { ResourceQuota } from '../../api/gen/core-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import type { QuotaEvaluator } from '../../component-helpers/quota/evaluator.ts';
import { evaluatorFor } from '../../component-helpers/quota/evaluators.ts';
import { addLists, maskList } from '../../component-helpers/quota/resource-lists.ts';
import { inScopes } from '../../component-helpers/quota/scopes.ts';
import { createKeyedLoop, informerList, runPeriodically, type Controller, type ControllerDeps } from '../controller.ts';
import { createQuotaMonitors } from './quota-monitors.ts';

const NAME = 'resourcequota-controller';
const WORKERS = 5;
/** Objects that are counted in one turn of the loop. */
const OBJECTS_PER_TURN = 500;
const RESYNC_MS = 5 * 60_000;

export function createResourceQuotaController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(NAME);
  const quotas = deps.informers.informer(ResourceQuotas);
  const classes = deps.informers.informer(DeviceClasses);
  const lookups = {
    deviceClasses: () => classes.list(),
    // Matters to names with `requests.` only, for which pods are followed too: the others make nobody follow them.
    pod: (namespace: string, name: string) => deps.informers.existing(Pods)?.get({ namespace, name }),
    // Evaluators of claims read these, so an informer follows them.
    resourceClaims: (namespace: string) => deps.informers.informer(ResourceClaims).list(namespace),
  };
  const measuring = (info: ResourceInfo): QuotaEvaluator => evaluatorFor(info, lookups);
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'resourcequota_primary',
    workers: WORKERS,
    informers: informerList(quotas, classes),
    sync: syncResourceQuota,
  });
  const monitors = createQuotaMonitors({
    client,
    informers: deps.informers,
    platform: deps.platform,
    evaluatorFor: measuring,
    replenished: (namespace) => quotas.list(namespace).forEach((quota) => loop.queue.add(keyOfObject(quota))),
  });

  async function syncResourceQuota(key: string, signal: AbortSignal): Promise<void> {
    const wanted = Object.keys(quotas.get(parseKey(key))?.spec?.hard ?? {});
    const informers = await monitors.follow(wanted, signal);
    const quota = quotas.get(parseKey(key));
    if (quota === undefined) return;
    const { hard = {} } = quota.spec ?? {};
    const names = Object.keys(hard);
    const measured = new Set<string>();
    let used: Record<string, string> = {};
    for (const informer of informers) {
      const evaluator = measuring(informer.info);
      for (const name of names) if (evaluator.measures(name)) measured.add(name);
      used = addLists(used, await usageOf(informer.list(quota.metadata.namespace), evaluator, quota));
    }
    const none = Object.fromEntries([...measured].map((name) => [name, '0']));
    await writeStatus(quota, { hard, used: maskList(addLists(none, used), names) }, signal);
  }

  /** Only names that the objects use: a quota may have ten thousand. */
  async function usageOf(
    objects: readonly KubernetesObject[],
    evaluator: QuotaEvaluator,
    { spec = {} }: ResourceQuota,
  ): Promise<Record<string, string>> {
    let used: Record<string, string> = {};
    for (const [at, object] of objects.entries()) {
      if (at % OBJECTS_PER_TURN === OBJECTS_PER_TURN - 1) await clock.yield();
      if (inScopes(evaluator, spec, object)) used = addLists(used, evaluator.usage(object, clock.nowMs()));
    }
    return used;
  }

  async function writeStatus(
    quota: ResourceQuota,
    status: NonNullable<ResourceQuota['status']>,
    signal: AbortSignal,
  ): Promise<void> {
    if (deepEqual(status, quota.status)) return;
    try {
      // With its resource version: what admission charged meanwhile is not lost, the count is made again.
      await client.resource(ResourceQuotas).updateStatus({ ...quota, status }, { signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  const resync = async (signal: AbortSignal): Promise<void> => {
    const all = quotas.list();
    await monitors.keep([...new Set(all.flatMap(({ spec }) => Object.keys(spec?.hard ?? {})))], signal);
    all.forEach(enqueue);
  };
  const enqueue = (quota: ResourceQuota): void => loop.queue.add(keyOfObject(quota));
  quotas.addHandler({
    onAdd: enqueue,
    // Admission's charges are no reason to count: the cache of what is counted may be behind them.
    onUpdate: (old, quota) => {
      if (!deepEqual(old.spec, quota.spec)) enqueue(quota);
    },
  });
  return {
    name: NAME,
    async start(signal) {
      const rounds = { name: NAME, periodMs: RESYNC_MS, round: () => resync(signal) };
      await Promise.all([loop.start(signal), runPeriodically(deps, rounds, signal)]);
    },
  };
}
