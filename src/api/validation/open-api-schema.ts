/**
 * Validates the schema of a custom resource: the allowed keywords of JSON schema, and combinations of the extensions. Upstream:
 * apis/apiextensions/validation ValidateCustomResourceDefinitionOpenAPISchema.
 */
import { isObject } from '../codec/own-property.ts';
import type { Field } from '../field-error.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { checkListType, wantType } from './list-schema.ts';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];
const MAP_TYPES = ['atomic', 'granular'];
const META_FIELDS = new Set(['metadata', 'kind', 'apiVersion']);

interface SchemaPosition {
  readonly isRoot: boolean;
  /** In the metadata, kind or apiVersion of a resource. */
  readonly insideMeta: boolean;
  /** Why a default is forbidden here. */
  readonly noDefaults?: string;
}

/** Further rules of each schema, which run after those of this file. */
export type CheckPlace = (schema: JSONSchemaProps, field: Field) => void;

/** Validates a schema and all schemas below it. */
export function validateOpenApiSchema(schema: JSONSchemaProps, field: Field, check: CheckPlace): void {
  visit(schema, field, { at: { isRoot: true, insideMeta: false }, check });
}

interface Visit {
  readonly at: SchemaPosition;
  readonly check: CheckPlace;
}

function visit(schema: JSONSchemaProps, field: Field, { at, check }: Visit): void {
  checkAllowed(schema, field, at);
  checkUniqueItems(schema, field);
  const inside: Visit = { at: { ...at, isRoot: false }, check };
  visitAdditional(schema, field, inside);
  visitProperties(schema, field, { at, check });
  const { items, not, definitions = {}, dependencies = {} } = schema;
  if (not !== undefined) visit(not, field.at('not'), inside);
  for (const name of ['allOf', 'oneOf', 'anyOf'] as const)
    for (const [index, inner] of (schema[name] ?? []).entries()) visit(inner, field.at(name).item(index), inside);
  for (const [key, inner] of Object.entries(definitions)) visit(inner, field.at('definitions').key(key), inside);
  if (Array.isArray(items))
    for (const [index, item] of items.entries()) visit(item, field.at('items').item(index), inside);
  else if (items !== undefined) visit(items, field.at('items'), inside);
  for (const [key, inner] of Object.entries(dependencies))
    if (!Array.isArray(inner)) visit(inner, field.at('dependencies').key(key), inside);
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    field.at('x-kubernetes-preserve-unknown-fields').invalid(false, 'must be true or undefined');
  checkMapType(schema, field);
  checkListType(schema, field);
  check(schema, field);
}

function visitAdditional(
  { additionalProperties, properties = {} }: JSONSchemaProps,
  field: Field,
  inside: Visit,
): void {
  if (additionalProperties === undefined) return;
  const place = field.at('additionalProperties');
  if (Object.keys(properties).length > 0 && additionalProperties !== true)
    place.forbidden('additionalProperties and properties are mutual exclusive');
  if (!isObject(additionalProperties)) return;
  const noDefaults = 'inside additionalProperties applying to object metadata';
  const at = inside.at.insideMeta ? { ...inside.at, noDefaults } : inside.at;
  visit(additionalProperties, place, { ...inside, at });
}

function visitProperties(schema: JSONSchemaProps, field: Field, { at, check }: Visit): void {
  const isResource = at.isRoot || schema['x-kubernetes-embedded-resource'] === true;
  for (const [key, inner] of Object.entries(schema.properties ?? {})) {
    const isMeta = isResource && META_FIELDS.has(key);
    const below: SchemaPosition = {
      ...at,
      isRoot: false,
      insideMeta: at.insideMeta || isMeta,
      noDefaults: isMeta && at.isRoot ? `in top-level ${key}` : at.noDefaults,
    };
    visit(inner, field.at('properties').key(key), { at: below, check });
  }
}

/**
 * Whether the field is set. Empty texts and maps count as absent, but a reference or dependencies, which are pointers, do not.
 */
function isUsed(schema: JSONSchemaProps, name: keyof JSONSchemaProps): boolean {
  const value = schema[name];
  if (value === undefined || value === null) return false;
  if (name === 'id') return value !== '';
  return name === 'patternProperties' || name === 'definitions' ? Object.keys(value).length > 0 : true;
}

const UNSUPPORTED: readonly (keyof JSONSchemaProps)[] = [
  'id',
  'additionalItems',
  'patternProperties',
  'definitions',
  'dependencies',
  '$ref',
];

function checkAllowed(schema: JSONSchemaProps, field: Field, { insideMeta, noDefaults }: SchemaPosition): void {
  const { type = '', items } = schema;
  if (type !== '' && !TYPES.includes(type)) field.at('type').notSupported(type, TYPES);
  if (noDefaults !== undefined && schema.default !== undefined)
    field.at('default').forbidden(`must not be set ${noDefaults}`);
  for (const name of UNSUPPORTED) if (isUsed(schema, name)) field.at(name).forbidden(`${name} is not supported`);
  if (type === 'null') field.at('type').forbidden('type cannot be set to null, use nullable as an alternative');
  if (Array.isArray(items) && items.length > 0)
    field.at('items').forbidden('items must be a schema object and not an array');
  if (insideMeta && schema['x-kubernetes-embedded-resource'] === true)
    field.at('x-kubernetes-embedded-resource').forbidden('must not be used inside of resource meta');
}

function checkUniqueItems({ uniqueItems }: JSONSchemaProps, field: Field): void {
  if (uniqueItems === true)
    field
      .at('uniqueItems')
      .forbidden('uniqueItems cannot be set to true since the runtime complexity becomes quadratic');
}

function checkMapType(schema: JSONSchemaProps, field: Field): void {
  const name = 'x-kubernetes-map-type';
  const mapType = schema[name];
  if (mapType === undefined) return;
  wantType(schema, field, { type: 'object', name });
  if (!MAP_TYPES.includes(mapType)) field.at(name).notSupported(mapType, MAP_TYPES);
}
