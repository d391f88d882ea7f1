/**
 * Defaults of a custom resource's schema: each is a value that the schema itself takes, without fields that it does not
 * know. Upstream: apiextensions-apiserver/pkg/apiserver/schema/defaulting/validation.go.
 */
import { sortKeys } from '../../base/stable-json.ts';
import { allSteps, type Steps } from '../../base/steps.ts';
import type { RuleSchema } from '../cel/rules/rule-schema.ts';
import { ruleSteps } from '../cel/rules/validate-rules.ts';
import { RUNTIME_COST_BUDGET } from '../cel/meter.ts';
import { unknownFields } from '../codec/prune.ts';
import type { Field } from '../field-error.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { embeddedRuleSteps } from '../json-schema/object-rules.ts';
import { validateBySchema } from '../json-schema/validate.ts';
import { partSchema } from '../schema/structural.ts';
import { appendAll } from '../../base/lists.ts';
import type { FieldCause } from '../status-error.ts';
import { partsOf } from './definition-budget.ts';

const META_FIELDS = new Set(['metadata', 'kind', 'apiVersion']);

/** How an object looks around a value in the metadata of an embedded resource. */
type EmbeddingOf = (value: unknown) => object;

interface Visit {
  /** Whether unknown fields are errors. */
  readonly isStrict: boolean;
  /** The resource around: the whole, or an embedded one. */
  readonly resource: JSONSchemaProps;
  readonly surround: EmbeddingOf;
  readonly insideMeta: boolean;
}

const withTypeMeta: EmbeddingOf = (value) => ({
  kind: 'Validation',
  apiVersion: 'validation/v1',
  ...(value as object),
});

/** Reports defaults that do not fit their own schema; `isStrict`: also for fields that it does not know. */
export function validateDefaults(schema: JSONSchemaProps, field: Field, isStrict: boolean): void {
  const root: JSONSchemaProps = { ...schema, 'x-kubernetes-embedded-resource': true };
  visit(root, field, { isStrict, resource: root, surround: withTypeMeta, insideMeta: false });
}

/** Whether a stored schema has such defaults: an update may keep them. */
export function hasUnknownDefaults(schema: JSONSchemaProps): boolean {
  if (schema.default !== undefined && unknownFields(partSchema(schema), schema.default).length > 0) return true;
  return partsOf(schema).some(hasUnknownDefaults);
}

function visit(schema: JSONSchemaProps, field: Field, around: Visit): void {
  const isResource = schema['x-kubernetes-embedded-resource'] === true;
  const here: Visit = isResource ? { ...around, resource: schema, surround: withTypeMeta, insideMeta: false } : around;
  if (schema.default !== undefined && schema.default !== null) checkDefault(schema, field.at('default'), here);
  const { items, properties = {} } = schema;
  if (items !== undefined && !Array.isArray(items))
    visit(items, field.at('items'), { ...here, surround: (value) => here.surround([value]) });
  for (const [key, inner] of Object.entries(properties))
    visit(inner, field.at('properties').key(key), {
      ...here,
      surround: (value) => here.surround({ [key]: value }),
      insideMeta: here.insideMeta || (isResource && META_FIELDS.has(key)),
    });
}

function checkDefault(schema: JSONSchemaProps, place: Field, around: Visit): void {
  const { resource, surround, insideMeta, isStrict } = around;
  const { default: value, ...rest } = schema;
  if (insideMeta) {
    const faults = allSteps(embeddedRuleSteps(resource, surround(value)));
    const texts = faults.map(({ field, text }) => `${field}: ${text}`);
    if (texts.length > 0)
      return place.invalid(
        sortKeys(value),
        `must result in valid metadata: ${texts.length === 1 ? texts[0]! : `[${texts.join(', ')}]`}`,
      );
  } else {
    if (isStrict && unknownFields(partSchema(rest), value).length > 0)
      place.invalid(sortKeys(value), 'must not have unknown fields');
    const faults = allSteps(embeddedRuleSteps(rest, value));
    if (faults.length > 0) return report(faults, place);
  }
  report(validateBySchema(rest, value), place);
}

/** Errors of a value, whose paths begin at the value, stand below the default's place. */
function report(faults: readonly FieldCause[], place: Field): void {
  const { path } = place;
  for (const { reason, field, text } of faults) {
    const separator = field.startsWith('[') ? '' : '.';
    place.errors.push({ reason, field: field === '<nil>' ? path : path + separator + field, text });
  }
}

/** Evaluates the rules on each default, as if it stayed and as if it were new, in steps. */
export function* defaultRuleSteps(rules: RuleSchema, field: Field): Steps<void> {
  yield* visitRules(rules, field, { left: RUNTIME_COST_BUDGET });
}

function* visitRules(rules: RuleSchema, field: Field, budget: { left: number }): Steps<void> {
  if (!rules.hasRules || budget.left <= 0) return;
  const { default: value } = rules.props;
  if (value !== undefined && value !== null) {
    const place = field.at('default');
    const ruleFindings = yield* ruleSteps(rules, { value, old: value }, place, budget.left);
    const made = ruleFindings.errors.length > 0 ? ruleFindings : yield* ruleSteps(rules, { value }, place, budget.left);
    // With an earlier value that is the same, only rules that compare with it count.
    appendAll(field.errors, ruleFindings.errors.length > 0 ? ruleFindings.errors : made.errors);
    budget.left = Math.min(ruleFindings.budget, made.budget);
  }
  if (rules.items !== undefined) yield* visitRules(rules.items, field.at('items'), budget);
  for (const [key, inner] of rules.properties) yield* visitRules(inner, field.at('properties').key(key), budget);
}
