/**
 * The schema of a custom resource: what of JSON schema may be used at all, and how the extensions go together. Upstream:
 * apis/apiextensions/validation ValidateCustomResourceDefinitionOpenAPISchema.
 */
import { isObject } from '../codec/own-property.ts';
import type { Field } from '../field-error.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';
import { validateBySchema } from '../json-schema/validate.ts';

const TYPES = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

const UNSUPPORTED: readonly (keyof JSONSchemaProps)[] = [
  'id',
  'additionalItems',
  'patternProperties',
  'definitions',
  'dependencies',
  '$ref',
];

/** Reports what may not stand in a schema; goes through all that is below it. */
export function validateOpenApiSchema(schema: JSONSchemaProps, field: Field): void {
  checkAllowed(schema, field);
  checkListType(schema, field);
  checkMapType(schema, field);
  checkDefault(schema, field);
  const { properties = {}, additionalProperties, items, not } = schema;
  if (isObject(additionalProperties)) validateOpenApiSchema(additionalProperties, field.at('additionalProperties'));
  for (const [key, inner] of Object.entries(properties)) validateOpenApiSchema(inner, field.at('properties').key(key));
  if (not !== undefined) validateOpenApiSchema(not, field.at('not'));
  for (const name of ['allOf', 'oneOf', 'anyOf'] as const)
    for (const [index, inner] of (schema[name] ?? []).entries())
      validateOpenApiSchema(inner, field.at(name).item(index));
  if (items !== undefined && !Array.isArray(items)) validateOpenApiSchema(items, field.at('items'));
}

function checkAllowed(schema: JSONSchemaProps, field: Field): void {
  const { type = '', properties = {}, additionalProperties, items } = schema;
  for (const name of UNSUPPORTED) if (schema[name] !== undefined) field.at(name).forbidden(`${name} is not supported`);
  if (type === 'null') field.at('type').forbidden('type cannot be set to null, use nullable as an alternative');
  else if (type !== '' && !TYPES.includes(type)) field.at('type').notSupported(type, TYPES);
  if (Array.isArray(items)) field.at('items').forbidden('items must be a schema object and not an array');
  if (schema.uniqueItems === true)
    field
      .at('uniqueItems')
      .forbidden('uniqueItems cannot be set to true since the runtime complexity becomes quadratic');
  const place = field.at('additionalProperties');
  if (additionalProperties === false) place.forbidden('additionalProperties cannot be set to false');
  if (additionalProperties !== undefined && additionalProperties !== true && Object.keys(properties).length > 0)
    place.forbidden('additionalProperties and properties are mutual exclusive');
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    field.at('x-kubernetes-preserve-unknown-fields').invalid(false, 'must be true or undefined');
}

function wantsType(schema: JSONSchemaProps, field: Field, { type, name }: { type: string; name: string }): void {
  const actual = schema.type ?? '';
  if (actual === type) return;
  const text = `must be ${type} if ${name} is specified`;
  if (actual === '') field.at('type').required(text);
  else field.at('type').invalid(actual, text);
}

function checkMapType(schema: JSONSchemaProps, field: Field): void {
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType === undefined) return;
  const name = 'x-kubernetes-map-type';
  wantsType(schema, field, { type: 'object', name });
  if (!['granular', 'atomic'].includes(mapType)) field.at(name).notSupported(mapType, ['granular', 'atomic']);
}

function checkListType(schema: JSONSchemaProps, field: Field): void {
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const name = 'x-kubernetes-list-type';
  if (listType !== undefined) {
    wantsType(schema, field, { type: 'array', name });
    if (!['atomic', 'set', 'map'].includes(listType)) field.at(name).notSupported(listType, ['atomic', 'set', 'map']);
  }
  if (keys.length > 0 && listType !== 'map') {
    const text = 'must be map if x-kubernetes-list-map-keys is non-empty';
    if (listType === undefined) field.at(name).required(text);
    else field.at(name).invalid(listType, text);
  }
  const { items } = schema;
  if (listType === 'map') checkMapList(schema, field);
  if (listType === 'set' && items !== undefined && !Array.isArray(items)) checkSetItems(items, field.at('items'));
}

function checkMapList(schema: JSONSchemaProps, field: Field): void {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const place = field.at('x-kubernetes-list-map-keys');
  if (keys.length === 0) place.required('must not be empty if x-kubernetes-list-type is map');
  const { items } = schema;
  if (items === undefined || Array.isArray(items))
    return field.at('items').required('must have a schema if x-kubernetes-list-type is map');
  const inside = field.at('items');
  if (items.type !== 'object')
    inside.at('type').invalid(items.type ?? '', "must be object if parent array's x-kubernetes-list-type is map");
  if (new Set(keys).size !== keys.length) place.invalid(keys, 'must not contain duplicate entries');
  const required = new Set(items.required);
  for (const key of keys) {
    const property = Object.hasOwn(items.properties ?? {}, key) ? items.properties![key] : undefined;
    if (property === undefined) {
      place.invalid(keys, 'entries must all be names of item properties');
      continue;
    }
    const at = inside.at('properties').key(key);
    if (property.type === 'array' || property.type === 'object')
      at.at('type').invalid(property.type, "must be a scalar type if parent array's x-kubernetes-list-type is map");
    const because = 'this property is in x-kubernetes-list-map-keys, so it';
    if (property.nullable === true) at.at('nullable').forbidden(`${because} cannot be nullable`);
    if (property.default === undefined && !required.has(key))
      at.at('default').required(`${because} must have a default or be a required property`);
  }
}

function checkSetItems(items: JSONSchemaProps, field: Field): void {
  const atomic = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  if (items.nullable === true) field.at('nullable').forbidden('cannot be nullable when x-kubernetes-list-type is set');
  const name =
    items.type === 'object' ? 'x-kubernetes-map-type' : items.type === 'array' ? 'x-kubernetes-list-type' : undefined;
  if (name === undefined || items[name] === 'atomic') return;
  const implied = name === 'x-kubernetes-list-type' && items[name] === undefined;
  if (implied) return;
  if (items[name] === undefined) field.at(name).required(atomic);
  else field.at(name).invalid(items[name], atomic);
}

/** A default must be valid itself. */
function checkDefault(schema: JSONSchemaProps, field: Field): void {
  if (schema.default === undefined) return;
  const { default: value, ...rest } = schema;
  const place = field.at('default');
  for (const { reason, field: path, text } of validateBySchema(rest, value))
    field.errors.push({ reason, field: path === '<nil>' ? place.path : `${place.path}.${path}`, text });
}
