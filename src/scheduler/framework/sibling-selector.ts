/**
 * The selector of a pod's siblings: the pods that the same services and the same owner select. Upstream:
 * scheduler/framework/plugins/helper.DefaultSelector.
 */
import {
  compileLabelMap,
  compileLabelSelector,
  compileRequirements,
  requirementsFromMap,
  type LabelRequirement,
} from '../../api/label-selector.ts';
import type { ReplicaSet, StatefulSet } from '../../api/gen/apps-v1.ts';
import type { Pod, ReplicationController, Service } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import type { SiblingSelector } from './plugin-deps.ts';
import { appendAll } from '../../base/lists.ts';

/**
 * Labels that are compared for one pod: a namespace may have any number of services, each with thousands. Services beyond
 * them are left out.
 */
const MAX_COMPARED = 20_000;

/** Where services and owners are looked up. */
export interface SiblingDeps {
  readonly services: Informer<Service>;
  readonly replicationControllers: Informer<ReplicationController>;
  readonly replicaSets: Informer<ReplicaSet>;
  readonly statefulSets: Informer<StatefulSet>;
}

export function createSiblingSelector(deps: SiblingDeps): SiblingSelector {
  return (pod) => {
    const namespace = pod.metadata.namespace;
    // All of them select the pod: they ask for values that it has.
    const asked: Record<string, string> = {};
    for (const service of selectingServices(deps.services, pod)) Object.assign(asked, service.spec?.selector);
    const requirements: LabelRequirement[] = requirementsFromMap(asked);
    const owner = pod.metadata.ownerReferences?.find((reference) => reference.controller === true);
    if (owner !== undefined)
      appendAll(requirements, ownerRequirements(deps, { kind: owner.kind, namespace, name: owner.name }));
    const unique = new Map(requirements.map((requirement) => [JSON.stringify(requirement), requirement]));
    return unique.size === 0 ? undefined : compileRequirements([...unique.values()]);
  };
}

export function selectingServices(services: Informer<Service>, pod: Stored<Pod>): Service[] {
  const { labels, namespace } = pod.metadata;
  if (Object.keys(labels ?? {}).length === 0) return [];
  let left = MAX_COMPARED;
  return services.list(namespace).filter((service) => {
    const selector = compileLabelMap(service.spec?.selector);
    left -= 1 + selector.size;
    return left > 0 && !selector.isEverything && selector.matches(labels);
  });
}

/** The selector of the first service that selects the pod. */
export function createServiceSiblings(services: Informer<Service>): SiblingSelector {
  return (pod) => {
    const [first] = selectingServices(services, pod);
    return first === undefined ? undefined : compileRequirements(requirementsFromMap(first.spec?.selector ?? {}));
  };
}

function ownerRequirements(
  deps: SiblingDeps,
  { kind, namespace, name }: { kind: string; namespace: string; name: string },
): readonly LabelRequirement[] {
  if (kind === 'ReplicationController')
    return requirementsFromMap(deps.replicationControllers.get({ namespace, name })?.spec?.selector ?? {});
  const selector =
    kind === 'ReplicaSet'
      ? deps.replicaSets.get({ namespace, name })?.spec?.selector
      : kind === 'StatefulSet'
        ? deps.statefulSets.get({ namespace, name })?.spec?.selector
        : undefined;
  return selector === undefined ? [] : compileLabelSelector(selector).requirements;
}
