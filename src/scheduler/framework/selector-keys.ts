/**
 * Keys under which selectors are indexed, so that the candidates for some labels are found without a walk over all. A
 * selector is stored under each value of the requirement with the fewest values; under the label's name where any
 * value matches; under `ANY` where the label may be absent. A selector found this way must still be evaluated.
 */
import type { LabelMatcher, LabelRequirement, Labels } from '../../api/label-selector.ts';

/** No label has this name. */
const ANY = '';

/** The keys of a selector: labels without any of them do not match it. No keys: it matches nothing. */
export function keysOfSelector({ isNothing, requirements }: LabelMatcher): readonly string[] {
  if (isNothing) return [];
  let best: readonly string[] | undefined;
  let name: string | undefined;
  for (const requirement of requirements) {
    const keys = keysOfValues(requirement);
    if (keys !== undefined && (best === undefined || keys.length < best.length)) best = keys;
    if (['exists', 'gt', 'lt'].includes(requirement.operator)) name ??= requirement.key;
  }
  return best ?? [name ?? ANY];
}

function keysOfValues({ key, operator, values }: LabelRequirement): readonly string[] | undefined {
  if (operator !== 'in' && operator !== '=' && operator !== '==') return undefined;
  return [...new Set(values)].map((value) => `${key}=${value}`);
}

/** The keys under which selectors are stored that may match the labels. Each selector is under at most one of them. */
export function* keysOfLabels(labels: Labels): Iterable<string> {
  yield ANY;
  for (const [key, value] of Object.entries(labels ?? {})) {
    yield key;
    yield `${key}=${value}`;
  }
}
