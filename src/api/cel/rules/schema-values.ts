/**
 * CEL types of the values of a structural schema: specified fields are accessible, preserved unknown fields are not. Upstream:
 * apiserver/pkg/cel/common/schemas.go (SchemaDeclType) with apiextensions' root and embedded metadata.
 */
import { stringifyJson } from '../../codec/json.ts';
import { type CelObject, TO_JSON } from '../runtime/values.ts';
import { jsonValue } from '../values.ts';
import { dateTimestampOf, durationOf, timestampOf } from '../runtime/times.ts';
import { BYTES_TYPE, DURATION_TYPE, TIMESTAMP_TYPE } from '../types/type.ts';
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';
import {
  BOOL,
  DOUBLE,
  DYN,
  INT,
  keyedListType,
  listType,
  mapType,
  scalarType,
  STRING,
  structOf,
  structType,
} from '../value-types.ts';
import type { StructField, ValueType } from '../value-types.ts';
import { escapeName, fieldSpellings } from './escape.ts';
import { maxEntries, maxItems, SCALAR_SIZE, type Size, textSize, UNKNOWN_SIZE } from './size.ts';

/** Type and size of values. */
export interface SchemaValues {
  readonly type: ValueType;
  readonly size: Size;
}

const TIMESTAMP = scalarType(TIMESTAMP_TYPE, (json) => timestampOf(json as string));
const DATE = scalarType(TIMESTAMP_TYPE, (json) => dateTimestampOf(json as string));
const DURATION = scalarType(DURATION_TYPE, (json) => durationOf(json as string));
const BYTES = scalarType(BYTES_TYPE, (json) => new Uint8Array(Buffer.from(json as string, 'base64')));
const METADATA = structOf('ObjectMeta', { name: STRING, generateName: STRING });
const NAME_SIZE = textSize({});
const METADATA_SIZE: Size = {
  max: 0,
  fields: new Map([
    ['name', NAME_SIZE],
    ['generateName', NAME_SIZE],
  ]),
};

/** Creates types, each named after its path in the schema. */
export class SchemaTypes {
  readonly #names = new Set<string>();

  /** The type and size of a schema's values; undefined when they are not accessible. */
  valuesOf(props: JSONSchemaProps, path: string, root = false): SchemaValues | undefined {
    if (props['x-kubernetes-int-or-string'] === true) {
      const { maxLength } = props;
      return { type: DYN, size: maxLength === undefined ? UNKNOWN_SIZE : { max: Math.max(0, Number(maxLength)) * 4 } };
    }
    switch (props.type) {
      case 'object':
        return this.#object(props, path, root || props['x-kubernetes-embedded-resource'] === true);
      case 'array':
        return this.#list(props, path);
      case 'string':
        return { type: textType(props), size: textSize(props) };
      case 'boolean':
        return { type: BOOL, size: SCALAR_SIZE };
      case 'integer':
        return { type: INT, size: SCALAR_SIZE };
      case 'number':
        return { type: DOUBLE, size: SCALAR_SIZE };
      default:
        return undefined;
    }
  }

  #list(props: JSONSchemaProps, path: string): SchemaValues | undefined {
    const { items } = props;
    if (items === undefined || Array.isArray(items)) return undefined;
    const values = this.valuesOf(items, `${path}.item`);
    if (values === undefined) return undefined;
    return {
      type: typeOfList(props, values.type),
      size: { max: maxItems(props, items), items: values.size },
    };
  }

  #object(props: JSONSchemaProps, path: string, isResource: boolean): SchemaValues | undefined {
    const { additionalProperties } = props;
    if (typeof additionalProperties === 'object') {
      const values = this.valuesOf(additionalProperties, `${path}.value`);
      if (values === undefined) return undefined;
      return {
        type: mapType(values.type),
        size: { max: maxEntries(props, additionalProperties), items: values.size },
      };
    }
    return this.#struct(props, path, isResource);
  }

  #struct(props: JSONSchemaProps, path: string, isResource: boolean): SchemaValues {
    const fields: StructField[] = [];
    const sizes = new Map<string, Size>();
    const add = (json: string, { type, size }: SchemaValues): void => {
      for (const name of fieldSpellings(json)) fields.push({ name, json, type });
      // As upstream, a field read by an unescaped keyword has no known size.
      const escaped = escapeName(json);
      if (escaped !== undefined) sizes.set(escaped, size);
    };
    if (isResource) {
      add('apiVersion', { type: STRING, size: NAME_SIZE });
      add('kind', { type: STRING, size: NAME_SIZE });
      add('metadata', { type: METADATA, size: METADATA_SIZE });
    }
    for (const [name, property] of Object.entries(props.properties ?? {})) {
      if (isResource && (name === 'apiVersion' || name === 'kind' || name === 'metadata')) continue;
      const values = this.valuesOf(property, `${path}.${(escapeName(name) ?? '_').replaceAll(/\W/g, '_')}`);
      if (values !== undefined) add(name, values);
    }
    return { type: structType(this.#unique(path), fields), size: { max: 0, fields: sizes } };
  }

  #unique(path: string): string {
    let name = path;
    for (let count = 2; this.#names.has(name); count++) name = `${path}_${count}`;
    this.#names.add(name);
    return name;
  }
}

function typeOfList(props: JSONSchemaProps, items: ValueType): ValueType {
  const keys = props['x-kubernetes-list-map-keys'] ?? [];
  switch (props['x-kubernetes-list-type']) {
    case 'set':
      return keyedListType(items, scalarKey);
    case 'map':
      return keyedListType(items, (item) => objectKey(item, keys));
    default:
      return listType(items);
  }
}

/** The key of an item of a set. */
function scalarKey(item: unknown): string {
  return stringifyJson(jsonValue(item));
}

/** The key of an object in a list of type map. Undefined for objects that expressions construct: they have no keys. */
function objectKey(item: unknown, keys: readonly string[]): string | undefined {
  if (typeof item !== 'object' || item === null || !(TO_JSON in item)) return undefined;
  const json = (item as CelObject)[TO_JSON]() as Readonly<Record<string, unknown>>;
  return stringifyJson(keys.map((key) => (Object.hasOwn(json, key) ? json[key] : null) ?? null));
}

function textType(props: JSONSchemaProps): ValueType {
  switch (props.format) {
    case 'byte':
      return BYTES;
    case 'duration':
      return DURATION;
    case 'date':
      return DATE;
    case 'date-time':
      return TIMESTAMP;
    default:
      return STRING;
  }
}
