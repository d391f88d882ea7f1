/**
 * Counts the usage of namespaces against their quotas. Upstream: pkg/controller/resourcequota.
 *
 * Watches: ResourceQuotas and the kinds they count. Writes: ResourceQuota status, which admission raises and only
 * this loop lowers. Recalculates when a quota changes, when a counted object is deleted, and every five minutes.
 */
import { DeviceClasses, Pods, ResourceClaims, ResourceQuotas } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import { deepEqual } from '../../base/equal.ts';
import { StepMeter } from '../../base/steps.ts';
import type { Pod, ResourceQuota } from '../../api/gen/core-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import type { QuotaEvaluator } from '../../component-helpers/quota/evaluator.ts';
import { evaluatorFor } from '../../component-helpers/quota/evaluators.ts';
import { podEvaluator } from '../../component-helpers/quota/pod-evaluator.ts';
import { addLists, addTo, maskList } from '../../component-helpers/quota/resource-lists.ts';
import { inScopes } from '../../component-helpers/quota/scopes.ts';
import { createKeyedLoop, informerList, runPeriodically, type Controller, type ControllerDeps } from '../controller.ts';
import { MeasuredNames } from './measured-names.ts';
import { createQuotaMonitors } from './quota-monitors.ts';

const NAME = 'resourcequota-controller';
const WORKERS = 5;
/** Objects, with their containers and the names that they use, that are counted in one turn of the loop. */
const PARTS_PER_TURN = 3000;
/** A quota with this many names gets a turn of its own. */
const LARGE = 1000;
const RESYNC_MS = 5 * 60_000;

export function createResourceQuotaController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(NAME);
  const quotas = deps.informers.informer(ResourceQuotas);
  const classes = deps.informers.informer(DeviceClasses);
  const lookups = {
    deviceClasses: () => classes.list(),
    // Needed only for names with `requests.`, for which pods are followed anyway; the other names do not follow pods.
    pod: (namespace: string, name: string) => deps.informers.existing(Pods)?.get({ namespace, name }),
    // Evaluators of claims read these, so an informer follows them.
    resourceClaims: (namespace: string) => deps.informers.informer(ResourceClaims).list(namespace),
  };
  const measuring = (info: ResourceInfo): QuotaEvaluator => evaluatorFor(info, lookups);
  const measuredNames = new MeasuredNames(clock);
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
    measured: measuredNames,
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
    const used: Record<string, string> = {};
    for (const informer of informers) {
      const evaluator = measuring(informer.info);
      for (const name of await measuredNames.of(evaluator, names)) measured.add(name);
      addTo(used, await usageOf(informer.list(quota.metadata.namespace), evaluator, quota));
    }
    const none = Object.fromEntries([...measured].map((name) => [name, '0']));
    await writeStatus(quota, { hard, used: maskList(addLists(none, used), names) }, signal);
  }

  /** Computes only names that the objects use: a quota may have ten thousand. */
  async function usageOf(
    objects: readonly KubernetesObject[],
    evaluator: QuotaEvaluator,
    { spec = {} }: ResourceQuota,
  ): Promise<Record<string, string>> {
    const used: Record<string, string> = {};
    const meter = new StepMeter(PARTS_PER_TURN);
    for (const object of objects) {
      let parts = 1 + (evaluator === podEvaluator ? containersOf(object) : 0);
      if (inScopes(evaluator, spec, object)) {
        const usage = evaluator.usage(object, clock.nowMs());
        addTo(used, usage);
        parts += Object.keys(usage).length;
      }
      if (meter.endsStep(parts)) await clock.yield();
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
      // With the resource version: if admission has charged meanwhile, the write conflicts and the usage is counted
      // again.
      await client.resource(ResourceQuotas).updateStatus({ ...quota, status }, { signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  const resync = async (signal: AbortSignal): Promise<void> => {
    const names = new Set<string>();
    for (const { spec } of quotas.list()) {
      const own = Object.keys(spec?.hard ?? {});
      for (const name of own) names.add(name);
      if (own.length > LARGE) await clock.yield();
    }
    await monitors.keep([...names], signal);
    quotas.list().forEach(enqueue);
  };
  const enqueue = (quota: ResourceQuota): void => loop.queue.add(keyOfObject(quota));
  quotas.addHandler({
    onAdd: enqueue,
    // Admission's charges need no recount: the caches may be behind them.
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

/** Each container of a pod is looked at. */
function containersOf(object: KubernetesObject): number {
  const { containers = [], initContainers = [] } = (object as Pod).spec ?? {};
  return containers.length + initContainers.length;
}
