/**
 * Follows the kinds that quotas count, each from the first quota that counts it. Upstream: QuotaMonitor. Differs on
 * purpose: kinds that no quota counts are not watched.
 */
import { Pods, Services, PersistentVolumeClaims, allResources } from '../../api/gen/resources.ts';
import type { PersistentVolumeClaim, Pod } from '../../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Client } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';
import type { Informer, InformerFactory } from '../../client/informer.ts';
import { isPodTerminal } from '../../component-helpers/pods.ts';
import type { QuotaEvaluator } from '../../component-helpers/quota/evaluator.ts';

/** Finds and follows what quotas count. */
export interface QuotaMonitors {
  /** The filled caches of the kinds that measure any of these names. Rejects when aborted. */
  follow(names: readonly string[], signal: AbortSignal): Promise<readonly Informer<KubernetesObject>[]>;
}

/** What they are made from. */
export interface QuotaMonitorDeps {
  readonly client: Client;
  readonly informers: InformerFactory;
  readonly evaluatorFor: (info: ResourceInfo) => QuotaEvaluator;
  /** Something that counts has gone from this namespace. */
  replenished(namespace: string): void;
}

const OWN_RULES = [Pods, Services, PersistentVolumeClaims] as readonly ResourceInfo[];

/** Makes the monitors; nothing is watched before it is asked for. */
export function createQuotaMonitors(deps: QuotaMonitorDeps): QuotaMonitors {
  const followed = new Map<ResourceInfo, Informer<KubernetesObject>>();

  async function kindsOf(names: readonly string[], signal: AbortSignal): Promise<ResourceInfo[]> {
    const measuring = (infos: readonly ResourceInfo[], wanted: readonly string[]): ResourceInfo[] =>
      infos.filter(
        (info) =>
          info.namespaced &&
          info.verbs.includes('list') &&
          info.verbs.includes('watch') &&
          wanted.some((name) => deps.evaluatorFor(info).measures(name)),
      );
    const found = newestOfEach(measuring([...OWN_RULES, ...allResources], names));
    const unknown = names.filter(
      (name) => name.startsWith('count/') && !found.some((info) => deps.evaluatorFor(info).measures(name)),
    );
    if (unknown.length === 0) return found;
    const { resources } = await discoverResources(deps.client, signal);
    return [...found, ...newestOfEach(measuring(resources, unknown))];
  }

  function followKind(info: ResourceInfo): Informer<KubernetesObject> {
    const known = followed.get(info);
    if (known !== undefined) return known;
    const informer = deps.informers.informer(info as ResourceInfo<KubernetesObject>);
    followed.set(info, informer);
    const replenish = (object: Stored<KubernetesObject>): void => deps.replenished(object.metadata.namespace ?? '');
    informer.addHandler({
      onDelete: replenish,
      onUpdate(old, object) {
        if (usesLess(info, old, object)) replenish(object);
      },
    });
    return informer;
  }

  return {
    async follow(names, signal) {
      const informers = (await kindsOf(names, signal)).map(followKind);
      deps.informers.start(signal);
      await Promise.all(informers.map((informer) => informer.waitForSync(signal)));
      return informers;
    },
  };
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
