/**
 * Selectors of requests: parsed once per text, and bounded, since a watch keeps its own and every change is held against
 * it. Upstream bounds them by the length of a URL alone.
 */
import { WeighedLru } from '../../base/weighed-lru.ts';
import { type FieldSelector, FieldSelectorError, parseFieldSelector } from '../../api/field-selector.ts';
import type { LabelMatcher } from '../../api/label-selector.ts';
import { LabelSelectorParseError, parseLabelSelector } from '../../api/label-selector-parser.ts';
import { badRequest } from '../../api/status-error.ts';

/** Requirements of one label or field selector. */
export const MAX_REQUIREMENTS = 200;
/** Values of all requirements of one label selector. */
export const MAX_VALUES = 2_000;

/** The most texts that are kept, and the most characters of them. Most selectors of a cluster are those of its controllers and nodes. */
const KEPT_TEXTS = 512;
const KEPT_LENGTH = 1024 * 1024;

const labelSelectors = new WeighedLru<string, LabelMatcher>(KEPT_TEXTS, KEPT_LENGTH);

/** A label selector; equal texts share one. Throws 400. */
export function boundedLabelSelector(text: string): LabelMatcher {
  const known = labelSelectors.get(text);
  if (known !== undefined) return known;
  const matcher = parsed(() => parseLabelSelector(text));
  const { requirements } = matcher;
  checkCount('label selector', 'requirements', requirements.length, MAX_REQUIREMENTS);
  const values = requirements.reduce((sum, requirement) => sum + requirement.values.length, 0);
  checkCount('label selector', 'values', values, MAX_VALUES);
  labelSelectors.set(text, matcher, text.length);
  return matcher;
}

/** A field selector. Throws 400. */
export function boundedFieldSelector(text: string): FieldSelector {
  const selector = parsed(() => parseFieldSelector(text));
  checkCount('field selector', 'requirements', selector.length, MAX_REQUIREMENTS);
  return selector;
}

function parsed<T>(parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (error instanceof LabelSelectorParseError || error instanceof FieldSelectorError)
      throw badRequest(error.message);
    throw error;
  }
}

function checkCount(selector: string, what: string, count: number, most: number): void {
  if (count > most) throw badRequest(`the ${selector} has ${count} ${what}: at most ${most} are allowed`);
}
