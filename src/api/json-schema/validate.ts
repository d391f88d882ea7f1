/**
 * Validates a value by the JSON schema of a custom resource, with upstream's paths and texts. Upstream:
 * kube-openapi/pkg/validation/validate, as apiextensions-apiserver/pkg/apiserver/validation calls it.
 * Unchanged parts of an update are not validated again (ratcheting), so values stored under an older schema may stay. Parts
 * correspond when their field names, or the keys of their list items, are equal. It is written by hand rather than with ajv, for
 * upstream's texts, list types and ratcheting, and because ajv generates code at run time.
 */
import { deepEqual, type Differing } from '../../base/equal.ts';
import { allSteps, StepMeter, type Steps } from '../../base/steps.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import { invalidValue, MAX_FIELD_ERRORS, required, tooMany } from '../field-error.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import type { FieldCause } from '../status-error.ts';
import { CHARS_OF_STEP, correlatedItem, correlationSteps } from './correlate.ts';
import { appendAll } from '../../base/lists.ts';
import { checkEnum, checksType, checkText, checkType, fieldOf, formatOf, type ValuePosition } from './value-checks.ts';

/** Stands for an absent old value. */
const nothing = Symbol('nothing');

/** A step ends after validating about this many values, a few milliseconds at most. */
const VALUES_OF_STEP = 200;

/** The errors so far, and the work of the current step. */
class Findings {
  readonly errors: FieldCause[] = [];
  /** The number of checks of the value. When all alternatives fail, the one with the most checks is reported. */
  matches = 0;
  readonly isBranch: boolean;
  readonly #pace: { values: number };
  readonly #differing: Differing;

  /** `findings`: the findings of the schema in which this one is an alternative. */
  constructor(findings?: Findings) {
    this.isBranch = findings !== undefined;
    this.#pace = findings === undefined ? { values: 0 } : findings.#pace;
    this.#differing = findings === undefined ? new WeakMap() : findings.#differing;
  }

  /** The results of comparisons are remembered, so that no part is compared twice. */
  isUnchanged({ value, old }: ValuePosition): boolean {
    return old !== nothing && deepEqual(value, old, this.#differing);
  }

  get isFull(): boolean {
    return this.errors.length >= MAX_FIELD_ERRORS;
  }

  /** Whether the current step ends here. */
  endsStep(): boolean {
    return ++this.#pace.values % VALUES_OF_STEP === 0;
  }
}

/** {@link validationSteps}, run without a pause. */
export function validateBySchema(
  schema: JSONSchemaProps,
  value: unknown,
  old?: { readonly value: unknown },
): FieldCause[] {
  return allSteps(validationSteps(schema, value, old));
}

/** The errors of a value. `old` is the value it replaces, if any. The time depends on the schema's alternatives, too. */
export function* validationSteps(
  schema: JSONSchemaProps,
  value: unknown,
  old?: { readonly value: unknown },
): Steps<FieldCause[]> {
  const found = new Findings();
  yield* check(schema, { path: '', value, old: old === undefined ? nothing : old.value }, found);
  return withoutRepeats(found.errors);
}

/** As upstream, an error of several alternatives is reported once. */
function withoutRepeats(errors: FieldCause[]): FieldCause[] {
  if (errors.length < 2) return errors;
  const seen = new Set<string>();
  return errors.filter(({ field, text }) => {
    const known = `${field}\n${text}`;
    return !seen.has(known) && seen.add(known);
  });
}

function* check(schema: JSONSchemaProps, place: ValuePosition, found: Findings): Steps<void> {
  if (found.endsStep()) yield;
  const { errors } = found;
  if (found.isFull || found.isUnchanged(place)) return;
  countMatches(schema, place, { found, hasType: checkType(schema, place, errors) });
  const { value } = place;
  if (value !== null) {
    yield* checkCombinations(schema, place, found);
    if (Array.isArray(value)) yield* checkArray(schema, { ...place, value: value as unknown[] }, found);
    else checkText(schema, place, errors);
  }
  checkEnum(schema, place, errors);
  if (isObject(value)) yield* checkObject(schema, { ...place, value }, found);
}

/** `check` for values of fields and items that are neither objects nor lists and have no alternatives. */
function checkPlain(schema: JSONSchemaProps, place: ValuePosition, found: Findings): void {
  const { errors } = found;
  if (found.isFull || found.isUnchanged(place)) return;
  countMatches(schema, place, { found, hasType: checkType(schema, place, errors) });
  if (place.value !== null) checkText(schema, place, errors);
  checkEnum(schema, place, errors);
}

/** Counts as upstream's `MatchCount`: one for each validator that applies to the value, and one more for some that succeed. */
function countMatches(
  schema: JSONSchemaProps,
  { value }: ValuePosition,
  { found, hasType }: { found: Findings; hasType: boolean },
): void {
  if (!found.isBranch) return;
  if (value === null) {
    if (hasType) found.matches++;
    return;
  }
  // The whole, combinations (two) and the enumeration.
  found.matches += 4;
  if (checksType(schema)) found.matches += hasType ? 2 : 1;
  if (typeof value === 'string') found.matches += formatOf(schema) === '' ? 1 : 2;
  else if (Array.isArray(value) || typeof value === 'number' || typeof value === 'bigint') found.matches += 2;
  else if (typeof value === 'object') found.matches++;
}

function isPlain({ anyOf, oneOf, allOf, not }: JSONSchemaProps, { value }: ValuePosition): boolean {
  const hasParts = typeof value === 'object' && value !== null;
  return !hasParts && anyOf === undefined && oneOf === undefined && allOf === undefined && not === undefined;
}

/** Checks a field or an item. Returns undefined when it is done without steps, as for most values. */
function checkInner(schema: JSONSchemaProps, place: ValuePosition, found: Findings): Steps<void> | undefined {
  if (!isPlain(schema, place)) return check(schema, place, found);
  checkPlain(schema, place, found);
  return found.endsStep() ? pause() : undefined;
}

function* pause(): Steps<void> {
  yield;
}

function* checkArray(
  schema: JSONSchemaProps,
  place: ValuePosition & { value: unknown[] },
  found: Findings,
): Steps<void> {
  const { path, value, old } = place;
  const { errors } = found;
  const { items, maxItems, minItems } = schema;
  if (items !== undefined && !Array.isArray(items)) {
    if (old !== nothing) yield* correlationSteps(schema, old);
    const meter = new StepMeter(CHARS_OF_STEP);
    let isOver = false;
    const onWork = (chars: number): void => {
      isOver = meter.endsStep(chars);
    };
    for (const [index, item] of value.entries()) {
      const before = old === nothing ? undefined : correlatedItem(schema, old, item, onWork);
      if (isOver) yield;
      isOver = false;
      const inner = { path: `${path}[${index}]`, value: item, old: before === undefined ? nothing : before };
      const steps = checkInner(items, inner, found);
      if (steps !== undefined) yield* steps;
    }
  }
  if (minItems !== undefined && value.length < minItems)
    errors.push(invalidValue(fieldOf(path), value.length, `${path} in body should have at least ${minItems} items`));
  if (maxItems !== undefined && value.length > maxItems) errors.push(tooMany(fieldOf(path), value.length, maxItems));
}

function* checkObject(
  schema: JSONSchemaProps,
  place: ValuePosition & { value: JsonObject },
  found: Findings,
): Steps<void> {
  const { path, value, old } = place;
  const { errors } = found;
  const { properties = {}, additionalProperties, maxProperties, minProperties } = schema;
  const size = Object.keys(value).length;
  if (minProperties !== undefined && size < minProperties)
    errors.push(invalidValue(fieldOf(path), size, `${path} in body should have at least ${minProperties} properties`));
  if (maxProperties !== undefined && size > maxProperties) errors.push(tooMany(fieldOf(path), size, maxProperties));
  const inner = (key: string): ValuePosition => ({
    path: path === '' ? key : `${path}.${key}`,
    value: value[key],
    old: old !== nothing && isObject(old) && Object.hasOwn(old, key) ? old[key] : nothing,
  });
  if (isObject(additionalProperties)) {
    for (const key of Object.keys(value)) {
      const steps = Object.hasOwn(properties, key) ? undefined : checkInner(additionalProperties, inner(key), found);
      if (steps !== undefined) yield* steps;
    }
  }
  for (const key of Object.keys(properties)) {
    if (!Object.hasOwn(value, key) || value[key] === undefined) continue;
    const steps = checkInner(properties[key]!, inner(key), found);
    if (steps !== undefined) yield* steps;
  }
  for (const key of schema.required ?? [])
    if (!Object.hasOwn(value, key) || value[key] === undefined) errors.push(required(fieldOf(inner(key).path)));
}

/** The findings of one branch of a combination. Branches are not compared with the old value. */
function* branchFindings(schema: JSONSchemaProps, place: ValuePosition, findings: Findings): Steps<Findings> {
  const found = new Findings(findings);
  yield* check(schema, { ...place, old: nothing }, found);
  return found;
}

/** As upstream, these errors have an empty path. */
function combine({ errors }: Findings, { path }: ValuePosition, text: string): void {
  errors.push(invalidValue('<nil>', '', `${JSON.stringify(path)} ${text}`));
}

function isValid({ errors }: Findings): boolean {
  return errors.length === 0;
}

function merge(findings: Findings, { errors, matches }: Findings): void {
  appendAll(findings.errors, errors);
  findings.matches += matches;
}

function* checkCombinations(schema: JSONSchemaProps, place: ValuePosition, findings: Findings): Steps<void> {
  const { anyOf = [], oneOf = [], allOf = [], not } = schema;
  if (anyOf.length > 0) yield* checkAnyOf(anyOf, place, findings);
  if (oneOf.length > 0) yield* checkOneOf(oneOf, place, findings);
  if (allOf.length > 0) yield* checkAllOf(allOf, place, findings);
  if (not !== undefined && isValid(yield* branchFindings(not, place, findings)))
    combine(findings, place, 'must not validate the schema (not)');
}

function* checkAnyOf(schemas: readonly JSONSchemaProps[], place: ValuePosition, findings: Findings): Steps<void> {
  const failed: Findings[] = [];
  for (const schema of schemas) {
    const found = yield* branchFindings(schema, place, findings);
    if (isValid(found)) return merge(findings, found);
    failed.push(found);
  }
  combine(findings, place, 'must validate at least one schema (anyOf)');
  merge(findings, nearest(failed));
}

function* checkOneOf(schemas: readonly JSONSchemaProps[], place: ValuePosition, findings: Findings): Steps<void> {
  const found: Findings[] = [];
  for (const schema of schemas) found.push(yield* branchFindings(schema, place, findings));
  const [valid, ...others] = found.filter(isValid);
  if (valid !== undefined && others.length === 0) return merge(findings, valid);
  const how = valid === undefined ? 'Found none valid' : `Found ${others.length + 1} valid alternatives`;
  combine(findings, place, `must validate one and only one schema (oneOf). ${how}`);
  if (valid === undefined) merge(findings, nearest(found));
}

function* checkAllOf(schemas: readonly JSONSchemaProps[], place: ValuePosition, findings: Findings): Steps<void> {
  let valid = 0;
  for (const schema of schemas) {
    const found = yield* branchFindings(schema, place, findings);
    if (isValid(found)) valid++;
    merge(findings, found);
  }
  if (valid !== schemas.length)
    combine(findings, place, `must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`);
}

/** The findings with the most checks; the first of them when several have as many. */
function nearest(found: readonly Findings[]): Findings {
  return found.reduce((best, one) => (one.matches > best.matches ? one : best));
}
