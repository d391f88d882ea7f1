/**
 * The selectors in a review: a text, or requirements. A requirement that cannot be written as text, or would be read
 * as several, is left out, which asks for more access. Upstream: registry/authorization/util,
 * apis/authorization/validation.
 */
import type { Field } from '../../../api/field-error.ts';
import { escapeFieldValue } from '../../../api/field-selector.ts';
import { isLabelValue, isQualifiedName } from '../../../api/names.ts';
import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  ResourceAttributes,
} from '../../../api/gen/authorization-v1.ts';

/** The text of a field selector; undefined for none. */
export function fieldSelectorText(selector: FieldSelectorAttributes | undefined): string | undefined {
  const texts = (selector?.requirements ?? []).flatMap(({ key, operator, values = [] }) => {
    const [value] = values;
    if (value === undefined || values.length > 1 || (operator !== 'In' && operator !== 'NotIn')) return [];
    if (/[\\,=!]/.test(key)) return [];
    return [`${key}${operator === 'In' ? '=' : '!='}${escapeFieldValue(value)}`];
  });
  return texts.length > 0 ? texts.join(',') : selector?.rawSelector;
}

const LABEL_OPERATORS: ReadonlyMap<string, (key: string, values: readonly string[]) => string> = new Map([
  ['In', (key, values) => `${key} in (${values.join(',')})`],
  ['NotIn', (key, values) => `${key} notin (${values.join(',')})`],
  ['Exists', (key) => key],
  ['DoesNotExist', (key) => `!${key}`],
]);

/** The text of a label selector; undefined for none. */
export function labelSelectorText(selector: LabelSelectorAttributes | undefined): string | undefined {
  const texts = (selector?.requirements ?? []).flatMap(({ key, operator, values = [] }) => {
    const needsValues = operator === 'In' || operator === 'NotIn';
    const problems = [isQualifiedName(key), ...values.map(isLabelValue)].flat();
    const isSound = needsValues === values.length > 0 && problems.length === 0;
    const format = isSound ? LABEL_OPERATORS.get(operator) : undefined;
    return format === undefined ? [] : [format(key, values)];
  });
  return texts.length > 0 ? texts.join(',') : selector?.rawSelector;
}

/** A selector is either a text or requirements. `field`: of the spec. */
export function validateReviewSelectors(attributes: ResourceAttributes | undefined, field: Field): void {
  for (const name of ['fieldSelector', 'labelSelector'] as const) {
    const selector = attributes?.[name];
    if (selector === undefined) continue;
    const { rawSelector = '', requirements = [] } = selector;
    const place = field.at('resourceAttributes').at(name);
    if (rawSelector !== '' && requirements.length > 0)
      place.at('rawSelector').invalid(rawSelector, 'may not specified at the same time as requirements');
    if (rawSelector === '' && requirements.length === 0)
      place.at('requirements').required(`when ${place.path} is specified, requirements or rawSelector is required`);
  }
}
