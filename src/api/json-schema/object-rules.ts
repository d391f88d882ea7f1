/**
 * What schemas of custom resources ask for beside JSON schema: lists without doubles, embedded resources that are
 * resources. Upstream: apiextensions-apiserver/pkg/apiserver/schema listtype and objectmeta.
 */
import { sortedByKey } from '../../base/stable-json.ts';
import { deepEqual } from '../../base/equal.ts';
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
import { correlatedItem, keyValue } from './correlate.ts';

interface Visit {
  readonly field: Field;
  readonly value: unknown;
  /** Absent: nothing to compare with. */
  readonly old?: unknown;
}

/** Errors of an object; its own apiVersion, kind and metadata are the caller's. Unchanged parts are not judged again. */
export function validateObjectRules(schema: JSONSchemaProps, value: unknown, old?: unknown): FieldCause[] {
  const field = Field.root();
  visit(schema, { field, value, old });
  return field.errors;
}

function visit(schema: JSONSchemaProps, { field, value, old }: Visit): void {
  if (old !== undefined && deepEqual(value, old)) return;
  if (Array.isArray(value)) visitList(schema, { field, value: value as unknown[], old });
  else if (isObject(value)) visitObject(schema, { field, value, old });
}

function visitObject(schema: JSONSchemaProps, { field, value, old }: Visit & { value: JsonObject }): void {
  if (schema['x-kubernetes-embedded-resource'] === true) validateEmbedded(value, field);
  const { properties = {}, additionalProperties } = schema;
  for (const key of Object.keys(value)) {
    const known = Object.hasOwn(properties, key);
    const inner = known ? properties[key] : isObject(additionalProperties) ? additionalProperties : undefined;
    if (inner === undefined) continue;
    const before = isObject(old) && Object.hasOwn(old, key) ? old[key] : undefined;
    visit(inner, { field: known ? field.at(key) : field.key(key), value: value[key], old: before });
  }
}

function visitList(schema: JSONSchemaProps, { field, value, old }: Visit & { value: unknown[] }): void {
  const listType = schema['x-kubernetes-list-type'];
  if (listType === 'set') findDoubles(value, field);
  if (listType === 'map') {
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
  if (items === undefined || Array.isArray(items)) return;
  for (const [index, item] of value.entries())
    visit(items, { field: field.item(index), value: item, old: correlatedItem(schema, old, item) });
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
  if (!Object.hasOwn(value, 'apiVersion')) field.at('apiVersion').required('must not be empty');
  else if (typeof apiVersion !== 'string') field.at('apiVersion').invalid(apiVersion, 'must be a string');
  else if (apiVersion.split('/').length > 2)
    field.at('apiVersion').invalid(apiVersion, `unexpected GroupVersion string: ${apiVersion}`);
  if (!Object.hasOwn(value, 'kind')) field.at('kind').required('must not be empty');
  else if (typeof kind !== 'string') field.at('kind').invalid(kind, 'must be a string');
  else if (isDns1035Label(kind.toLowerCase()).length > 0) {
    const why = `may have mixed case, but should otherwise match: ${isDns1035Label(kind.toLowerCase()).join(',')}`;
    field.at('kind').invalid(kind, why);
  }
  if (metadata !== undefined) validateEmbeddedMetadata(metadata, field.at('metadata'));
}

function validateEmbeddedMetadata(metadata: unknown, field: Field): void {
  try {
    const { object } = decodeTyped(typeSchema('meta.v1.ObjectMeta') as StructSchema, metadata);
    // A template's name may be left out; something must stand there for the check.
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
