/**
 * Validation of affinity and topology spread constraints. Upstream: apis/core/validation validateAffinity,
 * validateTopologySpreadConstraints.
 */
import type { Field } from '../field-error.ts';
import type { Affinity, PodAffinity, PodAffinityTerm, TopologySpreadConstraint } from '../gen/core-v1.ts';
import type { LabelSelector } from '../gen/meta-v1.ts';
import { validateLabelName } from '../meta-validation.ts';
import { isDns1123Label } from '../names.ts';
import { validateOptionalChoice } from './common.ts';
import { validateLabelSelector, validateNodeSelector, validateNodeSelectorTerm } from './selectors.ts';

function validateWeight(weight: number, field: Field): void {
  if (weight < 1 || weight > 100) field.invalid(weight, 'must be in the range 1-100');
}

function validateTerm(term: PodAffinityTerm, field: Field): void {
  validateLabelSelector(term.labelSelector, field.at('labelSelector'));
  validateLabelSelector(term.namespaceSelector, field.at('namespaceSelector'));
  for (const namespace of term.namespaces ?? []) field.at('namespace').complain(namespace, isDns1123Label(namespace));
  validateLabelKeys(term.matchLabelKeys, term.labelSelector, field.at('matchLabelKeys'));
  validateLabelKeys(term.mismatchLabelKeys, term.labelSelector, field.at('mismatchLabelKeys'));
  validateNotSelected(term.matchLabelKeys ?? [], term.labelSelector, field);
  const mismatching = new Set(term.mismatchLabelKeys);
  for (const [index, key] of (term.matchLabelKeys ?? []).entries()) {
    if (mismatching.has(key))
      field.at('matchLabelKeys').item(index).invalid(key, 'exists in both matchLabelKeys and mismatchLabelKeys');
  }
  if ((term.topologyKey ?? '') === '') field.at('topologyKey').required('can not be empty');
  validateLabelName(term.topologyKey ?? '', field.at('topologyKey'));
}

function validateLabelKeys(keys: readonly string[] | undefined, selector: object | undefined, field: Field): void {
  if ((keys ?? []).length === 0) return;
  if (selector === undefined) return field.forbidden('must not be specified when labelSelector is not set');
  for (const [index, key] of keys!.entries()) validateLabelName(key, field.item(index));
}

/**
 * The selector must not contain the keys itself. Creating the pod adds each key to the selector once; as upstream, a second
 * requirement is reported at the key's index, outside of any list.
 */
function validateNotSelected(keys: readonly string[], selector: LabelSelector | undefined, field: Field): void {
  const seen = new Set(Object.keys(selector?.matchLabels ?? {}));
  const lastIndexes = new Map(keys.map((key, index) => [key, index]));
  for (const { key } of selector?.matchExpressions ?? []) {
    const index = lastIndexes.get(key);
    if (index !== undefined && seen.has(key))
      field.item(index).invalid(key, 'exists in both matchLabelKeys and labelSelector');
    seen.add(key);
  }
}

function validatePodAffinity(affinity: PodAffinity, field: Field): void {
  for (const [index, term] of (affinity.requiredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    validateTerm(term, field.at('requiredDuringSchedulingIgnoredDuringExecution').item(index));
  }
  for (const [index, weighted] of (affinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
    const place = field.at('preferredDuringSchedulingIgnoredDuringExecution').item(index);
    validateWeight(weighted.weight, place.at('weight'));
    validateTerm(weighted.podAffinityTerm, place.at('podAffinityTerm'));
  }
}

export function validateAffinity(affinity: Affinity | undefined, field: Field): void {
  if (affinity === undefined) return;
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
  if (nodeAffinity !== undefined) {
    const place = field.at('nodeAffinity');
    if (nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution !== undefined) {
      validateNodeSelector(
        nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution,
        place.at('requiredDuringSchedulingIgnoredDuringExecution'),
      );
    }
    for (const [index, term] of (nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).entries()) {
      const at = place.at('preferredDuringSchedulingIgnoredDuringExecution').item(index);
      validateWeight(term.weight, at.at('weight'));
      validateNodeSelectorTerm(term.preference, at.at('preference'), { anyLabelValue: true });
    }
  }
  if (podAffinity !== undefined) validatePodAffinity(podAffinity, field.at('podAffinity'));
  if (podAntiAffinity !== undefined) validatePodAffinity(podAntiAffinity, field.at('podAntiAffinity'));
}

export function validateTopologySpread(
  constraints: readonly TopologySpreadConstraint[] | undefined,
  field: Field,
): void {
  const pairOf = ({ topologyKey, whenUnsatisfiable }: TopologySpreadConstraint): string =>
    `{${topologyKey}, ${whenUnsatisfiable}}`;
  const last = new Map((constraints ?? []).map((constraint, index) => [pairOf(constraint), index]));
  for (const [index, constraint] of (constraints ?? []).entries()) {
    const place = field.item(index);
    if (constraint.maxSkew <= 0) place.at('maxSkew').invalid(constraint.maxSkew, 'must be greater than zero');
    if ((constraint.topologyKey ?? '') === '') place.at('topologyKey').required('can not be empty');
    validateOptionalChoice(
      constraint.whenUnsatisfiable ?? '',
      ['DoNotSchedule', 'ScheduleAnyway'],
      place.at('whenUnsatisfiable'),
    );
    const pair = pairOf(constraint);
    // As upstream, all but the last of repeated constraints are reported.
    if (last.get(pair) !== index) place.at('{topologyKey, whenUnsatisfiable}').duplicate(pair);
    const { minDomains } = constraint;
    if (minDomains !== undefined && minDomains <= 0)
      place.at('minDomains').invalid(minDomains, 'must be greater than zero');
    if (minDomains !== undefined && constraint.whenUnsatisfiable !== 'DoNotSchedule') {
      place
        .at('minDomains')
        .invalid(
          minDomains,
          `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${constraint.whenUnsatisfiable}`,
        );
    }
    validateOptionalChoice(constraint.nodeAffinityPolicy, ['Honor', 'Ignore'], place.at('nodeAffinityPolicy'));
    validateOptionalChoice(constraint.nodeTaintsPolicy, ['Honor', 'Ignore'], place.at('nodeTaintsPolicy'));
    validateLabelKeys(constraint.matchLabelKeys, constraint.labelSelector, place.at('matchLabelKeys'));
    validateNotSelected(constraint.matchLabelKeys ?? [], constraint.labelSelector, place);
    validateLabelSelector(constraint.labelSelector, place.at('labelSelector'));
  }
}
