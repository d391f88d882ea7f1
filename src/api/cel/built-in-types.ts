/** The types of built-in kinds, for type checking only: at run time policies see objects untyped. Upstream: openapi/resolver with SchemaDeclType. */
import type { FieldSchema, ScalarName, TypeSchema } from '../schema/type-schema.ts';
import { schemaOf } from '../schema/schema.ts';
import { fieldSpellings } from './rules/escape.ts';
import { BYTES_TYPE, TIMESTAMP_TYPE } from './types/type.ts';
import {
  BOOL,
  DOUBLE,
  DYN,
  INT,
  listType,
  mapType,
  scalarType,
  STRING,
  type StructField,
  structType,
  type ValueType,
} from './value-types.ts';

const notAValue = (): never => {
  throw new Error('types of built-in kinds have no values');
};
const TIMESTAMP = scalarType(TIMESTAMP_TYPE, notAValue);
const BYTES = scalarType(BYTES_TYPE, notAValue);

const SCALARS: Readonly<Record<ScalarName, ValueType>> = {
  string: STRING,
  boolean: BOOL,
  int32: INT,
  int64: INT,
  double: DOUBLE,
  bytes: BYTES,
  quantity: DYN,
  time: TIMESTAMP,
  microTime: TIMESTAMP,
  intOrString: DYN,
};

/** The type of a built-in kind, or undefined. */
export function builtInType(group: string, version: string, kind: string): ValueType | undefined {
  const schema = schemaOf(group, version, kind);
  return schema === undefined ? undefined : new BuiltInTypes().typeOf(schema);
}

class BuiltInTypes {
  readonly #made = new Map<string, ValueType>();
  /** Types under construction. A type that contains itself is untyped at the inner place. */
  readonly #open = new Set<string>();

  typeOf(schema: TypeSchema): ValueType {
    switch (schema.kind) {
      case 'scalar':
        return SCALARS[schema.scalar];
      case 'any':
        return DYN;
      case 'list':
        return listType(this.typeOf(schema.items));
      case 'map':
        return mapType(this.typeOf(schema.values));
      case 'struct':
        return this.#struct(schema.name, schema.fields);
    }
  }

  #struct(name: string, fields: ReadonlyMap<string, FieldSchema>): ValueType {
    const cached = this.#made.get(name);
    if (cached !== undefined) return cached;
    if (this.#open.has(name)) return DYN;
    this.#open.add(name);
    const made: StructField[] = [];
    for (const [json, field] of fields) {
      const type = this.typeOf(field.type);
      for (const spelled of fieldSpellings(json)) made.push({ name: spelled, json, type });
    }
    this.#open.delete(name);
    const type = structType(name.replaceAll(/[^\w.]/g, '_'), made);
    this.#made.set(name, type);
    return type;
  }
}
