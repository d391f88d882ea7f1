/**
 * Selectors in requests: parsed once per text, and bounded, since a watch keeps its selector and every change is
 * matched against it. Upstream's only bound is the length of the URL.
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

/** Bounds of the cache of parsed selectors. Most selectors in a cluster come from its controllers and nodes. */
const KEPT_TEXTS = 512;
const KEPT_LENGTH = 1024 * 1024;

const labelSelectors = new WeighedLru<string, LabelMatcher>(KEPT_TEXTS, KEPT_LENGTH);
const fieldSelectors = new WeighedLru<string, FieldSelector>(KEPT_TEXTS, KEPT_LENGTH);

/** Parses a label selector; equal texts share the result. Throws 400. */
export function boundedLabelSelector(text: string): LabelMatcher {
  const cached = labelSelectors.get(text);
  if (cached !== undefined) return cached;
  const matcher = parsed(() => parseLabelSelector(text, { requirements: MAX_REQUIREMENTS, values: MAX_VALUES }));
  labelSelectors.set(text, matcher, text.length);
  return matcher;
}

/** Parses a field selector; equal texts share the result. Throws 400. */
export function boundedFieldSelector(text: string): FieldSelector {
  const cached = fieldSelectors.get(text);
  if (cached !== undefined) return cached;
  const selector = parsed(() => parseFieldSelector(text, MAX_REQUIREMENTS));
  fieldSelectors.set(text, selector, text.length);
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
