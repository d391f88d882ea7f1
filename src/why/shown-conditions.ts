/**
 * All conditions of an object, each with a message. Components leave it out where all is well, as upstream's do: then the
 * answer has what the condition means. In the objects it stays as upstream has it.
 */
import type { KubernetesObject } from '../api/object.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import type { PodDisruptionBudget } from '../api/gen/policy-v1.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { conditionsOf, type Condition } from './conditions.ts';
import type { ShownCondition } from './explanation.ts';

/** Real objects have about ten. */
const MAX_SHOWN = 30;

type Meaning = (object: KubernetesObject, isTrue: boolean) => string | undefined;

const ofPod =
  (text: (pod: Pod) => string): Meaning =>
  (object, isTrue) =>
    isTrue ? text(object as Pod) : undefined;

/** What conditions mean for which their component writes no message, by kind and type. */
const MEANINGS: Readonly<Record<string, Readonly<Record<string, Meaning>>>> = {
  Pod: {
    PodScheduled: ofPod(({ spec }) => `it was bound to node ${spec?.nodeName ?? ''}`),
    PodReadyToStartContainers: ofPod(() => 'its sandbox and its network are there'),
    Initialized: ofPod(({ spec }) =>
      (spec?.initContainers ?? []).length === 0
        ? 'it has no init containers'
        : 'its init containers have done their part',
    ),
    ContainersReady: ofPod(() => 'all its containers are ready'),
    Ready: ofPod(({ spec }) =>
      (spec?.readinessGates ?? []).length === 0
        ? 'all its containers are ready'
        : 'all its containers are ready, and its readiness gates are True',
    ),
  },
  PodDisruptionBudget: {
    DisruptionAllowed: (object) => {
      const allowed = (object as PodDisruptionBudget).status?.disruptionsAllowed ?? 0;
      return `it allows ${allowed} ${allowed === 1 ? 'eviction' : 'evictions'}`;
    },
  },
};

export function shownConditions(info: ResourceInfo, object: KubernetesObject): readonly ShownCondition[] | undefined {
  const conditions = conditionsOf(object).slice(0, MAX_SHOWN);
  return conditions.length === 0 ? undefined : conditions.map((condition) => shown(info, object, condition));
}

function shown(info: ResourceInfo, object: KubernetesObject, condition: Condition): ShownCondition {
  const { type, status, reason = '', message = '', lastTransitionTime } = condition;
  const isBuiltIn = info.group === '' || info.group === 'policy';
  const meaning =
    isBuiltIn && status !== 'Unknown' ? MEANINGS[info.kind]?.[type]?.(object, status === 'True') : undefined;
  return {
    type,
    status,
    reason: reason === '' ? undefined : reason,
    message: message === '' ? meaning : message,
    since: lastTransitionTime ?? undefined,
  };
}
