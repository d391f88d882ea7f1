/** Lists of custom resources: their type, and what it asks of their items. Upstream: apis/apiextensions/validation. */
import type { Field } from '../field-error.ts';
import type { JSONSchemaProps } from '../gen/apiextensions-v1.ts';

const NAME = 'x-kubernetes-list-type';
const KEYS = 'x-kubernetes-list-map-keys';
const LIST_TYPES = ['atomic', 'set', 'map'];

function itemsOf({ items }: JSONSchemaProps): JSONSchemaProps | undefined {
  return Array.isArray(items) ? undefined : items;
}

/** Reports another type than the extension is for. */
export function wantType(schema: JSONSchemaProps, field: Field, { type, name }: { type: string; name: string }): void {
  const { type: actual = '' } = schema;
  if (actual === type) return;
  const text = `must be ${type} if ${name} is specified`;
  if (actual === '') field.at('type').required(text);
  else field.at('type').invalid(actual, text);
}

export function checkListType(schema: JSONSchemaProps, field: Field): void {
  const { [NAME]: listType, [KEYS]: keys = [], type } = schema;
  const items = itemsOf(schema);
  if (listType !== undefined && type !== 'array') wantType(schema, field, { type: 'array', name: NAME });
  else if (listType === 'set' && items !== undefined) checkSetItems(items, field.at('items'));
  if (listType !== undefined && !LIST_TYPES.includes(listType)) field.at(NAME).notSupported(listType, LIST_TYPES);
  if (keys.length > 0 && listType !== 'map') {
    const text = `must be map if ${KEYS} is non-empty`;
    if (listType === undefined) field.at(NAME).required(text);
    else field.at(NAME).invalid(listType, text);
  }
  if (listType === 'map') checkMapList(schema, field);
  if ((listType === 'map' || listType === 'set') && items !== undefined) checkPresence(schema, items, field);
}

/** Items of sets are compared whole. Upstream shows the list type of the item for both. */
function checkSetItems(
  { type, [NAME]: listType, 'x-kubernetes-map-type': mapType }: JSONSchemaProps,
  field: Field,
): void {
  const text = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  if (type === 'array' && listType !== undefined && listType !== 'atomic') field.at(NAME).invalid(listType, text);
  if (type === 'object' && mapType !== 'atomic') field.at('x-kubernetes-map-type').invalid(listType ?? null, text);
}

function checkMapList(schema: JSONSchemaProps, field: Field): void {
  const { [KEYS]: keys = [], items } = schema;
  if (keys.length === 0) field.at(KEYS).required(`must not be empty if ${NAME} is map`);
  if (items === undefined) field.at('items').required(`must have a schema if ${NAME} is map`);
  else if (Array.isArray(items)) field.at('items').invalid(items, `must only have a single schema if ${NAME} is map`);
  else if (items.type !== 'object')
    field
      .at('items')
      .at('type')
      .invalid(items.type ?? '', `must be object if parent array's ${NAME} is map`);
  else checkKeys(keys, items, field);
}

function checkKeys(keys: readonly string[], { properties = {} }: JSONSchemaProps, field: Field): void {
  const seen = new Set<string>();
  for (const key of keys) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (property === undefined) field.at(KEYS).invalid(keys, 'entries must all be names of item properties');
    else if (property.type === 'array' || property.type === 'object')
      // Upstream shows the type of the items.
      field
        .at('items')
        .at('properties')
        .key(key)
        .at('type')
        .invalid('object', `must be a scalar type if parent array's ${NAME} is map`);
    if (seen.has(key)) field.at(KEYS).invalid(keys, 'must not contain duplicate entries');
    seen.add(key);
  }
}

/** Items are there, and so are their keys. */
function checkPresence(
  { [NAME]: listType, [KEYS]: keys = [] }: JSONSchemaProps,
  items: JSONSchemaProps,
  field: Field,
): void {
  const inside = field.at('items');
  if (items.nullable === true) inside.at('nullable').forbidden(`cannot be nullable when ${NAME} is ${listType}`);
  if (listType !== 'map') return;
  const required = new Set(items.required);
  const because = `this property is in ${KEYS}, so it`;
  for (const key of keys) {
    const property = Object.hasOwn(items.properties ?? {}, key) ? items.properties![key]! : undefined;
    if (property === undefined) continue;
    const place = inside.at('properties').key(key);
    if (!required.has(key) && property.default === undefined)
      place.at('default').required(`${because} must have a default or be a required property`);
    if (property.nullable === true) place.at('nullable').forbidden(`${because} cannot be nullable`);
  }
}
