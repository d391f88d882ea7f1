/**
 * Validates that a custom resource's schema is structural: every field is specified outside of value validation, and value
 * validation specifies no structure. Upstream: apiextensions-apiserver/pkg/apiserver/schema/validation.go.
 */
import { deepEqual } from '../../base/equal.ts';
import { isObject, getOwn } from '../codec/own-property.ts';
import type { Field } from '../field-error.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { patternOf } from '../json-schema/patterns.ts';
import { partsOf } from './definition-budget.ts';

type Level = 'root' | 'item' | 'field';

/** A schema and its field. */
interface SchemaAtField {
  readonly schema: JSONSchemaProps;
  readonly field: Field;
}

const TYPE_TEXTS: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

/** Adds an error for each part that is not structural, sorted by path and text. */
export function validateStructuralSchema(schema: JSONSchemaProps, field: Field): void {
  const before = field.errors.length;
  checkInvariants({ schema, field }, 'root');
  checkCompleteness({ schema, field }, { schema, field });
  const found = field.errors.splice(before).map((error) => [`${error.field}: ${error.text}`, error] as const);
  for (const [, error] of found.sort(([a], [b]) => (a < b ? -1 : 1))) field.errors.push(error);
}

function itemsOf({ items }: JSONSchemaProps): JSONSchemaProps | undefined {
  return Array.isArray(items) ? undefined : items;
}

function checkInvariants({ schema, field }: SchemaAtField, level: Level): void {
  const { type = '', properties = {}, additionalProperties } = schema;
  const items = itemsOf(schema);
  if (type === 'array' && items === undefined) field.at('items').required('must be specified');
  if (items !== undefined) checkInvariants({ schema: items, field: field.at('items') }, 'item');
  for (const [key, inner] of Object.entries(properties))
    checkInvariants({ schema: inner, field: field.at('properties').key(key) }, 'field');
  if (additionalProperties !== undefined) {
    const place = field.at('additionalProperties');
    if (level === 'root') place.forbidden('must not be used at the root');
    if (isObject(additionalProperties)) checkInvariants({ schema: additionalProperties, field: place }, 'field');
  }
  checkExtensions({ schema, field });
  checkValues({ schema, field }, level);
  checkTypePresent({ schema, field }, level);
  checkTypeMeta({ schema, field }, level);
}

function checkExtensions({ schema, field }: SchemaAtField): void {
  if (schema['x-kubernetes-int-or-string'] !== true) return;
  for (const name of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const)
    if (schema[name] === true) field.at(name).invalid(true, 'must be false if x-kubernetes-int-or-string is true');
}

function checkTypePresent({ schema, field }: SchemaAtField, level: Level): void {
  const { type = '' } = schema;
  const place = field.at('type');
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  if (embedded && type !== 'object') {
    const text = 'must be object if x-kubernetes-embedded-resource is true';
    if (type === '') place.required(text);
    else place.invalid(type, text);
  } else if (
    type === '' &&
    schema['x-kubernetes-int-or-string'] !== true &&
    schema['x-kubernetes-preserve-unknown-fields'] !== true
  )
    place.required(TYPE_TEXTS[level]);
  if (embedded && schema.additionalProperties !== undefined)
    field.at('additionalProperties').forbidden('must not be used if x-kubernetes-embedded-resource is set');
  if (level === 'root' && type !== '' && type !== 'object') place.invalid(type, 'must be object at the root');
}

function checkTypeMeta({ schema, field }: SchemaAtField, level: Level): void {
  const { properties = {} } = schema;
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const checked = level === 'root' || embedded;
  const wants = (name: string, type: string): void => {
    const inner = properties[name];
    if (checked && inner !== undefined && (inner.type ?? '') !== type)
      field
        .at('properties')
        .key(name)
        .at('type')
        .invalid(inner.type ?? '', `must be ${type}`);
  };
  wants('kind', 'string');
  wants('apiVersion', 'string');
  wants('metadata', 'object');
  const { metadata } = properties;
  if (level === 'root' && metadata !== undefined) checkRootMetadata(metadata, field.at('properties').key('metadata'));
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true;
  if (embedded && !preserves && Object.keys(properties).length === 0)
    field
      .at('properties')
      .required(
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      );
}

function checkRootMetadata(schema: JSONSchemaProps, field: Field): void {
  const { properties = {}, type: _, default: __, ...rest } = schema;
  const foreign = Object.keys(properties).some((name) => name !== 'name' && name !== 'generateName');
  if (foreign || Object.values(rest).some((value) => value !== '' && value !== false))
    field.forbidden('must not specify anything other than name and generateName, but metadata is implicitly specified');
}

const INT_OR_STRING: readonly JSONSchemaProps[] = [{ type: 'integer' }, { type: 'string' }];

function checkValues({ schema, field }: SchemaAtField, level: Level): void {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern = '' } = schema;
  const alternatives = deepEqual(anyOf, INT_OR_STRING);
  const inFirst = allOf.length > 0 && deepEqual(allOf[0]!.anyOf, INT_OR_STRING);
  if (!alternatives)
    for (const [i, one] of anyOf.entries()) checkNested({ schema: one, field: field.at('anyOf').item(i) }, level);
  for (const [i, one] of allOf.entries()) {
    const { anyOf: _, ...rest } = one;
    checkNested({ schema: inFirst && i === 0 ? rest : one, field: field.at('allOf').item(i) }, level);
  }
  for (const [i, one] of oneOf.entries()) checkNested({ schema: one, field: field.at('oneOf').item(i) }, level);
  if (not !== undefined) checkNested({ schema: not, field: field.at('not') }, level);
  if (pattern !== '') {
    const compiled = patternOf(pattern);
    if ('error' in compiled)
      field.at('pattern').invalid(pattern, `must be a valid regular expression, but isn't: ${compiled.error}`);
  }
}

const FORBIDDEN_WHEN_NESTED: readonly (readonly [keyof JSONSchemaProps, string])[] = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

/** Validates a schema within allOf, anyOf, oneOf or not. */
function checkNested({ schema, field }: SchemaAtField, level: Level): void {
  checkValues({ schema, field }, level);
  const items = itemsOf(schema);
  if (items !== undefined) checkNested({ schema: items, field: field.at('items') }, level);
  const { properties = {} } = schema;
  for (const [key, inner] of Object.entries(properties))
    checkNested({ schema: inner, field: field.at('properties').key(key) }, 'field');
  for (const [name, text] of FORBIDDEN_WHEN_NESTED) {
    const value = schema[name];
    const isDefault = name === 'default' && value !== undefined && value !== null;
    const empty = !value || (Array.isArray(value) && value.length === 0);
    if (!empty || isDefault) field.at(name).forbidden(text);
  }
  if (properties['metadata'] !== undefined)
    field.at('properties').key('metadata').forbidden('must not be specified in a nested context');
}

/** Fields that occur in value validations must be specified outside of them. */
function checkCompleteness(values: SchemaAtField, structure: SchemaAtField): void {
  const { anyOf = [], allOf = [], oneOf = [], not } = values.schema;
  for (const [name, list] of [
    ['allOf', allOf],
    ['anyOf', anyOf],
    ['oneOf', oneOf],
  ] as const)
    for (const [i, schema] of list.entries())
      checkNestedCompleteness({ schema, field: values.field.at(name).item(i) }, structure);
  if (not !== undefined) checkNestedCompleteness({ schema: not, field: values.field.at('not') }, structure);
}

function checkNestedCompleteness(values: SchemaAtField, { schema, field }: SchemaAtField): void {
  checkCompleteness(values, { schema, field });
  const because = (place: Field): string => `because it is defined in ${place.path}`;
  const items = itemsOf(values.schema);
  if (items !== undefined) {
    const inner = itemsOf(schema);
    const place = values.field.at('items');
    if (inner === undefined) field.at('items').required(because(place));
    else checkNestedCompleteness({ schema: items, field: place }, { schema: inner, field: field.at('items') });
  }
  for (const [key, one] of Object.entries(values.schema.properties ?? {})) {
    const inner = getOwn(schema.properties ?? {}, key);
    const place = values.field.at('properties').key(key);
    const target = field.at('properties').key(key);
    if (inner === undefined) target.required(because(place));
    else checkNestedCompleteness({ schema: one, field: place }, { schema: inner, field: target });
  }
}

/** The reason why a schema cannot be converted to a structural one. Upstream: schema/convert.go validateUnsupportedFields. */
export function unsupportedBy(schema: JSONSchemaProps): string | undefined {
  const { id = '', $schema = '', $ref = '', additionalItems, items } = schema;
  const isNot = (name: string): string => `OpenAPIV3Schema '${name}' is not supported`;
  if (id !== '') return isNot('id');
  if ($schema !== '') return isNot('schema');
  if ($ref !== '') return isNot('$ref');
  for (const name of ['patternProperties', 'dependencies'] as const)
    if (Object.keys(schema[name] ?? {}).length > 0) return isNot(name);
  if (additionalItems !== undefined) return isNot('additionalItems');
  if (Object.keys(schema.definitions ?? {}).length > 0) return isNot('definitions');
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined";
  if (Array.isArray(items) && items.length > 0) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  for (const part of partsOf(schema)) {
    const fault = unsupportedBy(part);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
