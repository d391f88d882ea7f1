/**
 * Follows the kinds that quotas count, each from the first quota that counts it. Upstream: QuotaMonitor. Differs on
 * purpose: kinds that no quota counts are not watched.
 */
import { Pods, Services, PersistentVolumeClaims, allResources } from '../../api/gen/resources.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { groupResourceOf, type ResourceInfo } from '../../api/resource-info.ts';
import { discoverResources, type Discovered } from '../../client/discovery.ts';
import type { Informer } from '../../client/informer.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import type { QuotaEvaluator } from '../../component-helpers/quota/evaluator.ts';
import { createCustomMonitors, type CustomMonitorDeps } from './custom-monitors.ts';

/** Finds and follows what quotas count. */
export interface QuotaMonitors {
  /** The filled caches of the kinds that measure any of these names. Rejects when aborted. */
  follow(names: readonly string[], signal: AbortSignal): Promise<readonly Informer<KubernetesObject>[]>;
  /** Follows custom kinds no longer that are not served or measure none of these names. */
  keep(names: readonly string[], signal: AbortSignal): Promise<void>;
}

export interface QuotaMonitorDeps extends CustomMonitorDeps {
  readonly evaluatorFor: (info: ResourceInfo) => QuotaEvaluator;
  /** Something that counts has gone from this namespace. */
  replenished(namespace: string): void;
}

const OWN_RULES = [Pods, Services, PersistentVolumeClaims] as readonly ResourceInfo[];

/** Makes the monitors; nothing is watched before it is asked for. */
export function createQuotaMonitors(deps: QuotaMonitorDeps): QuotaMonitors {
  const followed = new Map<ResourceInfo, Informer<KubernetesObject>>();
  const custom = createCustomMonitors(deps, attach);
  const measures = (info: ResourceInfo, names: readonly string[]): boolean => {
    const evaluator = deps.evaluatorFor(info);
    return names.some((name) => evaluator.measures(name));
  };
  const measuring = (infos: readonly ResourceInfo[], names: readonly string[]): ResourceInfo[] =>
    newestOfEach(infos.filter((info) => canBeFollowed(info) && measures(info, names)));

  function attach(informer: Informer<KubernetesObject>): void {
    const replenish = (object: Stored<KubernetesObject>): void => deps.replenished(object.metadata.namespace ?? '');
    informer.addHandler({
      onDelete: replenish,
      onUpdate(old, object) {
        if (usesLess(informer.info, old, object)) replenish(object);
      },
    });
  }

  function followBuiltIn(info: ResourceInfo): Informer<KubernetesObject> {
    const known = followed.get(info);
    if (known !== undefined) return known;
    const informer = deps.informers.informer(info as ResourceInfo<KubernetesObject>);
    followed.set(info, informer);
    attach(informer);
    return informer;
  }

  async function customKinds(names: readonly string[], signal: AbortSignal): Promise<ResourceInfo[]> {
    if (names.length === 0) return [];
    const { resources } = await discoverResources(deps.client, signal);
    return measuring(resources, names);
  }

  return {
    async follow(names, signal) {
      const builtIn = measuring([...OWN_RULES, ...allResources], names);
      const evaluators = builtIn.map((info) => deps.evaluatorFor(info));
      const unknown = names.filter(
        (name) => name.startsWith('count/') && !evaluators.some((evaluator) => evaluator.measures(name)),
      );
      const kinds = await customKinds(unknown, signal);
      const informers = builtIn.map(followBuiltIn);
      deps.informers.start(signal);
      await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
      return [...informers, ...(await custom.follow(kinds as ResourceInfo<KubernetesObject>[], signal))];
    },
    async keep(names, signal) {
      custom.drop((info) => !measures(info, names));
      if (custom.isEmpty()) return;
      const discovered = await discoverResources(deps.client, signal);
      custom.drop((info) => isGone(info, discovered));
    },
  };
}

function canBeFollowed({ namespaced, verbs }: ResourceInfo): boolean {
  return namespaced && verbs.includes('list') && verbs.includes('watch');
}

/** A server that does not answer takes nothing away: its resources are only unknown for now. */
function isGone(info: ResourceInfo, { resources, stale }: Discovered): boolean {
  if (stale.includes(`${info.group}/${info.version}`)) return false;
  const name = groupResourceOf(info);
  return !resources.some((other) => other.version === info.version && groupResourceOf(other) === name);
}

/** One version of each kind: they share their objects. */
function newestOfEach(infos: readonly ResourceInfo[]): ResourceInfo[] {
  const byName = new Map<string, ResourceInfo>();
  for (const info of infos) {
    const key = `${info.group}/${info.resource}`;
    if (!byName.has(key)) byName.set(key, info);
  }
  return [...byName.values()];
}

function usesLess(info: ResourceInfo, old: KubernetesObject, object: KubernetesObject): boolean {
  if (info === (Pods as ResourceInfo)) return !isPodTerminal(old as Pod) && isPodTerminal(object as Pod);
  if (info === (PersistentVolumeClaims as ResourceInfo)) {
    const [before, after] = [old as PersistentVolumeClaim, object as PersistentVolumeClaim].map(
      ({ status }) => status?.allocatedResources?.['storage'],
    );
    if (before !== after) return true;
  }
  return OWN_RULES.includes(info) && old.metadata.generation !== object.metadata.generation;
}
