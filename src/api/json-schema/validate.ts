/**
 * Checks a value against the JSON schema of a custom resource, with upstream's paths and texts. Upstream:
 * kube-openapi/pkg/validation/validate, as apiextensions-apiserver/pkg/apiserver/validation calls it.
 *
 * Unchanged parts of an update are not judged again (ratcheting): what was stored under an older schema may stay. Parts
 * are the same part when their field names, or the keys of their list items, are.
 * By hand rather than by ajv: upstream's texts, list types and ratcheting, and no code made at run time.
 */
import { deepEqual } from '../../base/equal.ts';
import { allSteps, type Steps } from '../../base/steps.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import { invalidValue, MAX_FIELD_ERRORS, required, tooMany } from '../field-error.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import type { FieldCause } from '../status-error.ts';
import { correlatedItem } from './correlate.ts';
import { appendAll } from '../../base/lists.ts';
import { checkEnum, checkText, checkType, fieldOf, type Place } from './value-checks.ts';

/** There is no earlier value to compare with. */
const nothing = Symbol('nothing');

/** A step takes as long as this many values do, and a few milliseconds at most. */
const VALUES_OF_STEP = 200;

/** What was found, and how far the work has come. */
class Findings {
  readonly errors: FieldCause[] = [];
  readonly #pace: { values: number };

  constructor(findings?: Findings) {
    this.#pace = findings === undefined ? { values: 0 } : findings.#pace;
  }

  get isFull(): boolean {
    return this.errors.length >= MAX_FIELD_ERRORS;
  }

  /** Whether a step ends here. */
  endsStep(): boolean {
    return ++this.#pace.values % VALUES_OF_STEP === 0;
  }
}

/** {@link validationSteps} without a pause. */
export function validateBySchema(
  schema: JSONSchemaProps,
  value: unknown,
  old?: { readonly value: unknown },
): FieldCause[] {
  return allSteps(validationSteps(schema, value, old));
}

/** Errors of a value. `old`, where given, is the value it replaces. How long it takes depends on the schema's alternatives, too. */
export function* validationSteps(
  schema: JSONSchemaProps,
  value: unknown,
  old?: { readonly value: unknown },
): Steps<FieldCause[]> {
  const found = new Findings();
  yield* check(schema, { path: '', value, old: old === undefined ? nothing : old.value }, found);
  return found.errors;
}

function* check(schema: JSONSchemaProps, place: Place, found: Findings): Steps<void> {
  if (found.endsStep()) yield;
  const { errors } = found;
  if (found.isFull || isUnchanged(place)) return;
  checkType(schema, place, errors);
  const { value } = place;
  if (value !== null) {
    yield* checkCombinations(schema, place, found);
    if (Array.isArray(value)) yield* checkArray(schema, { ...place, value: value as unknown[] }, found);
    else checkText(schema, place, errors);
  }
  checkEnum(schema, place, errors);
  if (isObject(value)) yield* checkObject(schema, { ...place, value }, found);
}

/** What `check` does, for values of fields and items that are neither objects nor lists and have no alternatives. */
function checkPlain(schema: JSONSchemaProps, place: Place, { isFull, errors }: Findings): void {
  if (isFull || isUnchanged(place)) return;
  checkType(schema, place, errors);
  if (place.value !== null) checkText(schema, place, errors);
  checkEnum(schema, place, errors);
}

function isPlain({ anyOf, oneOf, allOf, not }: JSONSchemaProps, { value }: Place): boolean {
  const hasParts = typeof value === 'object' && value !== null;
  return !hasParts && anyOf === undefined && oneOf === undefined && allOf === undefined && not === undefined;
}

/** Checks a field or an item. Undefined when it is done, as for most. */
function checkInner(schema: JSONSchemaProps, place: Place, found: Findings): Steps<void> | undefined {
  if (!isPlain(schema, place)) return check(schema, place, found);
  checkPlain(schema, place, found);
  return found.endsStep() ? pause() : undefined;
}

function* pause(): Steps<void> {
  yield;
}

function isUnchanged({ value, old }: Place): boolean {
  return old !== nothing && deepEqual(value, old);
}

function* checkArray(schema: JSONSchemaProps, place: Place & { value: unknown[] }, found: Findings): Steps<void> {
  const { path, value, old } = place;
  const { errors } = found;
  const { items, maxItems, minItems } = schema;
  if (items !== undefined && !Array.isArray(items)) {
    for (const [index, item] of value.entries()) {
      const before = old === nothing ? undefined : correlatedItem(schema, old, item);
      const inner = { path: `${path}[${index}]`, value: item, old: before === undefined ? nothing : before };
      const steps = checkInner(items, inner, found);
      if (steps !== undefined) yield* steps;
    }
  }
  if (minItems !== undefined && value.length < minItems)
    errors.push(invalidValue(fieldOf(path), value.length, `${path} in body should have at least ${minItems} items`));
  if (maxItems !== undefined && value.length > maxItems) errors.push(tooMany(fieldOf(path), value.length, maxItems));
}

function* checkObject(schema: JSONSchemaProps, place: Place & { value: JsonObject }, found: Findings): Steps<void> {
  const { path, value, old } = place;
  const { errors } = found;
  const { properties = {}, additionalProperties, maxProperties, minProperties } = schema;
  const size = Object.keys(value).length;
  if (minProperties !== undefined && size < minProperties)
    errors.push(invalidValue(fieldOf(path), size, `${path} in body should have at least ${minProperties} properties`));
  if (maxProperties !== undefined && size > maxProperties) errors.push(tooMany(fieldOf(path), size, maxProperties));
  const inner = (key: string): Place => ({
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

/** What a branch of a combination finds; branches are not compared with what was before. */
function* branch(schema: JSONSchemaProps, place: Place, findings: Findings): Steps<FieldCause[]> {
  const found = new Findings(findings);
  yield* check(schema, { ...place, old: nothing }, found);
  return found.errors;
}

function* branches(schemas: readonly JSONSchemaProps[], place: Place, findings: Findings): Steps<FieldCause[][]> {
  const found: FieldCause[][] = [];
  for (const one of schemas) found.push(yield* branch(one, place, findings));
  return found;
}

/** Upstream reports these at no path at all. */
function combine(errors: FieldCause[], { path }: Place, text: string): void {
  errors.push(invalidValue('<nil>', '', `${JSON.stringify(path)} ${text}`));
}

function* checkCombinations(schema: JSONSchemaProps, place: Place, findings: Findings): Steps<void> {
  const { anyOf = [], oneOf = [], allOf = [], not } = schema;
  const { errors } = findings;
  if (anyOf.length > 0) {
    const found = yield* branches(anyOf, place, findings);
    if (!found.some((faults) => faults.length === 0)) {
      combine(errors, place, 'must validate at least one schema (anyOf)');
      appendAll(errors, fewest(found));
    }
  }
  if (oneOf.length > 0) {
    const found = yield* branches(oneOf, place, findings);
    const valid = found.filter((faults) => faults.length === 0).length;
    if (valid !== 1) {
      const how = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`;
      combine(errors, place, `must validate one and only one schema (oneOf). ${how}`);
      if (valid === 0) appendAll(errors, fewest(found));
    }
  }
  if (allOf.length > 0) {
    const found = yield* branches(allOf, place, findings);
    const valid = found.filter((faults) => faults.length === 0).length;
    for (const one of found) for (const error of one) errors.push(error);
    if (valid !== allOf.length)
      combine(errors, place, `must validate all the schemas (allOf)${valid === 0 ? '. None validated' : ''}`);
  }
  if (not !== undefined && (yield* branch(not, place, findings)).length === 0)
    combine(errors, place, 'must not validate the schema (not)');
}

/** The branch that nearly fits. */
function fewest(found: readonly FieldCause[][]): readonly FieldCause[] {
  return found.reduce((best, one) => (one.length < best.length ? one : best));
}
