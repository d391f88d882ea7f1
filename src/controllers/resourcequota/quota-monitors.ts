/**
 * Follows the kinds that quotas count, each from the first quota that counts it on. Upstream: QuotaMonitor. Differs
 * on purpose: kinds that no quota counts are not watched.
 */
import { Pods, Services, PersistentVolumeClaims, allResources } from '../../api/gen/resources.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { groupResourceOf, type ResourceInfo } from '../../api/resource-info.ts';
import { discoverResources, type Discovered } from '../../client/discovery.ts';
import type { Informer } from '../../client/informer.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import type { QuotaEvaluator } from '../../component-helpers/quota/evaluator.ts';
import type { MeasuredNames } from './measured-names.ts';
import { createCustomMonitors, type CustomMonitorDeps } from './custom-monitors.ts';

/** Finds and follows the kinds that quotas count. */
export interface QuotaMonitors {
  /** The synced caches of the kinds that measure any of these names. Rejects when aborted. */
  follow(names: readonly string[], signal: AbortSignal): Promise<readonly Informer<KubernetesObject>[]>;
  /** Stops following custom kinds that are not served any more or that no quota with these names counts. */
  keep(names: readonly string[], signal: AbortSignal): Promise<void>;
}

export interface QuotaMonitorDeps extends CustomMonitorDeps {
  readonly evaluatorFor: (info: ResourceInfo) => QuotaEvaluator;
  readonly measured: MeasuredNames;
  /** A counted object in this namespace was deleted or now counts less. */
  replenished(namespace: string): void;
}

const OWN_RULES = [Pods, Services, PersistentVolumeClaims] as readonly ResourceInfo[];

/** Nothing is watched before the first call. */
export function createQuotaMonitors(deps: QuotaMonitorDeps): QuotaMonitors {
  const followed = new Map<ResourceInfo, Informer<KubernetesObject>>();
  const custom = createCustomMonitors(deps, attach);

  async function measuring(infos: readonly ResourceInfo[], names: readonly string[]): Promise<ResourceInfo[]> {
    const found: ResourceInfo[] = [];
    for (const info of infos) if ((await deps.measured.of(deps.evaluatorFor(info), names)).length > 0) found.push(info);
    return found;
  }

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
    const cached = followed.get(info);
    if (cached !== undefined) return cached;
    const informer = deps.informers.informer(info as ResourceInfo<KubernetesObject>);
    followed.set(info, informer);
    attach(informer);
    return informer;
  }

  async function customKinds(names: readonly string[], signal: AbortSignal): Promise<ResourceInfo[]> {
    if (names.length === 0) return [];
    const { resources } = await discoverResources(deps.client, signal);
    return newestOfEach(await measuring(resources.filter(canBeFollowed), names));
  }

  return {
    async follow(names, signal) {
      const builtIn = newestOfEach(await measuring([...OWN_RULES, ...allResources].filter(canBeFollowed), names));
      const known = new Set<string>();
      for (const info of builtIn)
        for (const name of await deps.measured.of(deps.evaluatorFor(info), names)) known.add(name);
      const unknown = names.filter((name) => name.startsWith('count/') && !known.has(name));
      const kinds = await customKinds(unknown, signal);
      const informers = builtIn.map(followBuiltIn);
      deps.informers.start(signal);
      await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
      return [...informers, ...(await custom.follow(kinds as ResourceInfo<KubernetesObject>[], signal))];
    },
    async keep(names, signal) {
      const before = custom.followed();
      const wanted = new Set(await measuring(before, names));
      custom.drop((info) => before.includes(info) && !wanted.has(info));
      if (custom.isEmpty()) return;
      const discovered = await discoverResources(deps.client, signal);
      custom.drop((info) => isGone(info, discovered));
    },
  };
}

function canBeFollowed({ namespaced, verbs }: ResourceInfo): boolean {
  return namespaced && verbs.includes('list') && verbs.includes('watch');
}

/** Resources of a server that does not answer are kept: they are only unknown for now. */
function isGone(info: ResourceInfo, { resources, stale }: Discovered): boolean {
  if (stale.includes(`${info.group}/${info.version}`)) return false;
  const name = groupResourceOf(info);
  return !resources.some((other) => other.version === info.version && groupResourceOf(other) === name);
}

/** One version of each kind, since versions share objects. */
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
