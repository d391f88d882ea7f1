/**
 * Keys under which selectors are kept, so that those that may match some labels are found without a look at all others. A
 * selector stands under each value of the requirement with the fewest; under the label's name where any value may do; under
 * `ANY` where the label may be absent. Whoever finds one still asks it.
 */
import type { LabelMatcher, LabelRequirement, Labels } from '../../api/label-selector.ts';

/** No label has this name. */
const ANY = '';

/** Where a selector stands: it matches no labels that do not have one of these keys. None: it matches nothing. */
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

/** Where selectors stand that may match the labels. A selector stands under at most one of them. */
export function* keysOfLabels(labels: Labels): Iterable<string> {
  yield ANY;
  for (const [key, value] of Object.entries(labels ?? {})) {
    yield key;
    yield `${key}=${value}`;
  }
}
