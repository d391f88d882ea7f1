/**
 * The types of the language for values of a structural schema: what is specified is accessible, what is merely preserved is
 * not. Upstream: apiserver/pkg/cel/common/schemas.go (SchemaDeclType) with apiextensions' root and embedded metadata.
 */
import type { Timestamp } from '../values.ts';
import { durationOf, timestampOf } from '../libraries/conversions.ts';
import { dateOf, parseTime } from '../../time.ts';
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';
import { BOOL, DOUBLE, DYN, INT, listType, mapType, scalarType, STRING, structOf, structType } from '../value-types.ts';
import type { StructField, ValueType } from '../value-types.ts';
import { escapeName } from './escape.ts';
import { maxEntries, maxItems, SCALAR_SIZE, type Size, textSize, UNKNOWN_SIZE } from './size.ts';

/** Type and size of values. */
export interface SchemaValues {
  readonly type: ValueType;
  readonly size: Size;
}

const TIMESTAMP = scalarType('google.protobuf.Timestamp', (json) => timestampOf(json as string));
const DATE = scalarType('google.protobuf.Timestamp', (json): Timestamp =>
  dateOf(parseTime(`${json as string}T00:00:00Z`)),
);
const DURATION = scalarType('google.protobuf.Duration', (json) => durationOf(json as string));
const BYTES = scalarType('bytes', (json) => new Uint8Array(Buffer.from(json as string, 'base64')));
const METADATA = structOf('ObjectMeta', { name: STRING, generateName: STRING });
const NAME_SIZE: Size = { max: 253 };
const METADATA_SIZE: Size = {
  max: 2,
  fields: new Map([
    ['name', NAME_SIZE],
    ['generateName', NAME_SIZE],
  ]),
};

/** Makes types with names of their own, after the paths they stand at. */
export class SchemaTypes {
  readonly #names = new Set<string>();

  /** Type and size of a schema's values; undefined when they are not accessible. */
  valuesOf(props: JSONSchemaProps, path: string, root = false): SchemaValues | undefined {
    if (props['x-kubernetes-int-or-string'] === true) return { type: DYN, size: UNKNOWN_SIZE };
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
    return { type: listType(values.type), size: { max: maxItems(props, items), items: values.size } };
  }

  #object(props: JSONSchemaProps, path: string, isResource: boolean): SchemaValues | undefined {
    const { additionalProperties } = props;
    if (typeof additionalProperties === 'object') {
      const values = this.valuesOf(additionalProperties, `${path}.value`);
      if (values === undefined) return undefined;
      return { type: mapType(values.type), size: { max: maxEntries(props, additionalProperties), items: values.size } };
    }
    return this.#struct(props, path, isResource);
  }

  #struct(props: JSONSchemaProps, path: string, isResource: boolean): SchemaValues {
    const fields: StructField[] = [];
    const sizes = new Map<string, Size>();
    const add = (json: string, { type, size }: SchemaValues): void => {
      const name = escapeName(json);
      if (name === undefined) return;
      fields.push({ name, json, type });
      sizes.set(name, size);
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
    return { type: structType(this.#unique(path), fields), size: { max: fields.length, fields: sizes } };
  }

  #unique(path: string): string {
    let name = path;
    for (let count = 2; this.#names.has(name); count++) name = `${path}_${count}`;
    this.#names.add(name);
    return name;
  }
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
