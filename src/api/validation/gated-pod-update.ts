/** Validation of updates that pods allow only while they have scheduling gates. Upstream: ValidatePodUpdate in apis/core/validation. */
import { deepEqual } from '../../base/equal.ts';
import type { Field } from '../field-error.ts';
import type { PodSpec, Affinity, NodeAffinity, NodeSelectorTerm } from '../gen/core-v1.ts';
import { shownMap } from './internal-form.ts';

/** While a pod has scheduling gates, its node selector and affinity may become narrower: both are validated and reset. */
export function validateGated(spec: PodSpec, old: PodSpec, field: Field): PodSpec {
  const isKept = Object.entries(old.nodeSelector ?? {}).every(([key, value]) => spec.nodeSelector?.[key] === value);
  if (!isKept)
    field
      .at('nodeSelector')
      .invalid(
        shownMap(spec.nodeSelector),
        'only additions to spec.nodeSelector are allowed (no mutations or deletions)',
      );
  const before = old.affinity?.nodeAffinity;
  validateNodeAffinityUpdate(spec.affinity?.nodeAffinity, before, field.at('affinity').at('nodeAffinity'));
  return { ...spec, nodeSelector: old.nodeSelector, affinity: gatedAffinity(spec.affinity, old.affinity) };
}

/** The new affinity with the node affinity reset. */
function gatedAffinity(now: Affinity | undefined, before: Affinity | undefined): Affinity | undefined {
  const nodeAffinity = before?.nodeAffinity;
  if (deepEqual(now?.nodeAffinity, nodeAffinity)) return now;
  const isNodeAlone = now?.podAffinity === undefined && now?.podAntiAffinity === undefined;
  return before === undefined && isNodeAlone ? undefined : { ...now, nodeAffinity };
}

/** Existing terms may only get more requirements. Upstream: validateNodeAffinityMutation. */
function validateNodeAffinityUpdate(
  now: NodeAffinity | undefined,
  before: NodeAffinity | undefined,
  field: Field,
): void {
  const name = 'requiredDuringSchedulingIgnoredDuringExecution';
  const oldTerms = before?.[name]?.nodeSelectorTerms ?? [];
  const newTerms = now?.[name]?.nodeSelectorTerms;
  const place = field.at(name).at('nodeSelectorTerms');
  if (oldTerms.length === 0) return;
  if (oldTerms.length !== newTerms?.length)
    return place.invalid(newTerms, 'no additions/deletions to non-empty NodeSelectorTerms list are allowed');
  for (const [index, oldTerm] of oldTerms.entries())
    if (!hasOnlyAdditions(newTerms[index]!, oldTerm))
      place.item(index).invalid(newTerms[index], 'only additions are allowed (no mutations or deletions)');
}

function hasOnlyAdditions(now: NodeSelectorTerm, before: NodeSelectorTerm): boolean {
  const lists = [
    [now.matchExpressions ?? [], before.matchExpressions ?? []],
    [now.matchFields ?? [], before.matchFields ?? []],
  ] as const;
  if (lists.every(([, old]) => old.length === 0)) return lists.every(([list]) => list.length === 0);
  return lists.every(([list, old]) => deepEqual(list.slice(0, old.length), old));
}
