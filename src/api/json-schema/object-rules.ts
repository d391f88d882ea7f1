/**
 * Requirements of custom resource schemas beyond JSON schema: unique items of lists, and valid metadata of embedded resources.
 * Upstream: apiextensions-apiserver/pkg/apiserver/schema listtype and objectmeta.
 */
import { sortedByKey } from '../../base/stable-json.ts';
import { deepEqual, type Differing } from '../../base/equal.ts';
import { StepMeter, type Steps } from '../../base/steps.ts';
import { isObject, type JsonObject } from '../codec/own-property.ts';
import { DecodeError, decodeTyped } from '../codec/typed.ts';
import { Field, renderValue } from '../field-error.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import type { ObjectMeta } from '../gen/meta-v1.ts';
import { type MetaRules, validateObjectMeta } from '../meta-validation.ts';
import { isDns1035Label, isPathSegmentName } from '../names.ts';
import { typeSchema } from '../schema/schema.ts';
import type { StructSchema } from '../schema/type-schema.ts';
import type { FieldCause } from '../status-error.ts';
import { CHARS_OF_STEP, correlatedItem, correlationSteps, keyValue } from './correlate.ts';

interface Visit {
  readonly field: Field;
  readonly value: unknown;
  /** Absent when there is no old value. */
  readonly old?: unknown;
}

/** The state of one validation: parts that were compared already, and the work of the current step. */
interface Pace {
  readonly differing: Differing;
  readonly meter: StepMeter;
  /** Whether lists are searched for doubles. */
  readonly checksLists: boolean;
}

/** Errors of an object. The caller validates the object's own apiVersion, kind and metadata. Unchanged parts are skipped. */
export function* objectRuleSteps(schema: JSONSchemaProps, value: unknown, old?: unknown): Steps<FieldCause[]> {
  return yield* visitAll(schema, { field: Field.root(), value, old }, true);
}

/** Errors of embedded resources alone, with those of the value itself where its schema says that it is one. */
export function* embeddedRuleSteps(schema: JSONSchemaProps, value: unknown): Steps<FieldCause[]> {
  return yield* visitAll(schema, { field: Field.root(), value }, false);
}

function* visitAll(schema: JSONSchemaProps, from: Visit, checksLists: boolean): Steps<FieldCause[]> {
  yield* visit(schema, from, { differing: new WeakMap(), meter: new StepMeter(CHARS_OF_STEP), checksLists });
  return from.field.errors;
}

const checked = new WeakMap<JSONSchemaProps, boolean>();

/** Whether the schema, or one below it, has a requirement that is checked here. */
function hasRules(schema: JSONSchemaProps): boolean {
  let cached = checked.get(schema);
  if (cached === undefined) {
    const { properties = {}, additionalProperties, items } = schema;
    const inner = [...Object.values(properties), additionalProperties, items].filter((one) => isObject(one));
    cached =
      schema['x-kubernetes-embedded-resource'] === true ||
      ['set', 'map'].includes(schema['x-kubernetes-list-type'] ?? '') ||
      inner.some((one) => hasRules(one as JSONSchemaProps));
    checked.set(schema, cached);
  }
  return cached;
}

function* visit(schema: JSONSchemaProps, { field, value, old }: Visit, pace: Pace): Steps<void> {
  if (!hasRules(schema) || (old !== undefined && deepEqual(value, old, pace.differing))) return;
  if (Array.isArray(value)) yield* visitList(schema, { field, value: value as unknown[], old }, pace);
  else if (isObject(value)) yield* visitObject(schema, { field, value, old }, pace);
}

function* visitObject(
  schema: JSONSchemaProps,
  { field, value, old }: Visit & { value: JsonObject },
  pace: Pace,
): Steps<void> {
  if (schema['x-kubernetes-embedded-resource'] === true) validateEmbedded(value, field);
  const { properties = {}, additionalProperties } = schema;
  for (const key of Object.keys(value)) {
    const known = Object.hasOwn(properties, key);
    const inner = known ? properties[key] : isObject(additionalProperties) ? additionalProperties : undefined;
    if (inner === undefined) continue;
    const before = isObject(old) && Object.hasOwn(old, key) ? old[key] : undefined;
    yield* visit(inner, { field: known ? field.at(key) : field.key(key), value: value[key], old: before }, pace);
  }
}

function* visitList(
  schema: JSONSchemaProps,
  { field, value, old }: Visit & { value: unknown[] },
  pace: Pace,
): Steps<void> {
  const listType = schema['x-kubernetes-list-type'];
  if (pace.checksLists && listType === 'set') findDoubles(value, field);
  if (pace.checksLists && listType === 'map') {
    const keys = schema['x-kubernetes-list-map-keys'] ?? [];
    findDoubles(
      value.map((item) =>
        isObject(item)
          ? Object.fromEntries(
              keys.map((key) => [key, keyValue(schema, item, key)] as const).filter(([, v]) => v !== undefined),
            )
          : item,
      ),
      field,
    );
  }
  const { items } = schema;
  if (items === undefined || Array.isArray(items) || !hasRules(items)) return;
  yield* correlationSteps(schema, old);
  let isOver = false;
  const onWork = (chars: number): void => {
    isOver = pace.meter.endsStep(chars);
  };
  for (const [index, item] of value.entries()) {
    const before = correlatedItem(schema, old, item, onWork);
    if (isOver) yield;
    isOver = false;
    yield* visit(items, { field: field.item(index), value: item, old: before }, pace);
  }
}

function findDoubles(values: readonly unknown[], field: Field): void {
  const seen = new Set<string>();
  const reported = new Set<string>();
  for (const [index, value] of values.entries()) {
    const text = isObject(value) ? renderValue(sortedByKey(value)) : renderValue(value);
    if (seen.has(text) && !reported.has(text)) {
      reported.add(text);
      field.item(index).duplicate(value);
    }
    seen.add(text);
  }
}

function validateEmbedded(value: JsonObject, field: Field): void {
  const { apiVersion, kind, metadata } = value;
  if (!Object.hasOwn(value, 'apiVersion')) field.at('apiVersion').required();
  else if (typeof apiVersion !== 'string') field.at('apiVersion').invalid(apiVersion, 'must be a string');
  else if (apiVersion === '') field.at('apiVersion').invalid(apiVersion, 'must not be empty');
  else if (apiVersion.split('/').length > 2)
    field.at('apiVersion').invalid(apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  if (!Object.hasOwn(value, 'kind')) field.at('kind').required();
  else if (typeof kind !== 'string') field.at('kind').invalid(kind, 'must be a string');
  else if (kind === '') field.at('kind').invalid(kind, 'must not be empty');
  else if (isDns1035Label(kind.toLowerCase()).length > 0) {
    const why = `may have mixed case, but should otherwise match: ${isDns1035Label(kind.toLowerCase()).join(',')}`;
    field.at('kind').invalid(kind, why);
  }
  if (metadata !== undefined) validateEmbeddedMetadata(metadata, field.at('metadata'));
}

function validateEmbeddedMetadata(metadata: unknown, field: Field): void {
  try {
    const { object } = decodeTyped(typeSchema('meta.v1.ObjectMeta') as StructSchema, metadata);
    // A template's name may be absent; the check needs some valid name.
    const meta = { ...object, name: object['name'] ?? 'fakename' } as ObjectMeta;
    const rules: MetaRules = {
      namespaced: (meta.namespace ?? '') !== '',
      validateName: isPathSegmentName,
      finalizers: 'qualified',
    };
    validateObjectMeta(meta, rules, field);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    field.invalid(metadata, error.message);
  }
}
