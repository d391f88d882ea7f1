/** Static types. Upstream: cel-go common/types/types.go and checker/format.go. */

import { walkWork } from '../meter.ts';

/** The kind of a type, on which the rules of assignment depend. */
type TypeKind =
  | 'bool'
  | 'bytes'
  | 'double'
  | 'duration'
  | 'dyn'
  | 'error'
  | 'int'
  | 'list'
  | 'map'
  | 'null'
  | 'opaque'
  | 'param'
  | 'string'
  | 'struct'
  | 'timestamp'
  | 'type'
  | 'uint';

/** The type of a field; undefined for unknown fields. */
type FieldTypes = (name: string) => Type | undefined;

/** A static type; also the value of `type(x)`. */
export class Type {
  readonly kind: TypeKind;
  /** The name in the language, without parameters. */
  readonly name: string;
  readonly params: readonly Type[];
  /** The types of a struct's fields; undefined where no field can be selected. */
  readonly field: FieldTypes | undefined;
  /** The number of types in the written form, including the type itself. */
  readonly nodes: number;
  /** Whether the type contains no type parameter. */
  readonly isClosed: boolean;

  constructor(kind: TypeKind, name: string, more: { params?: readonly Type[]; field?: FieldTypes | undefined } = {}) {
    this.kind = kind;
    this.name = name;
    this.params = more.params ?? [];
    this.field = more.field;
    this.nodes = this.params.reduce((sum, param) => sum + param.nodes, 1);
    this.isClosed = kind !== 'param' && this.params.every((param) => param.isClosed);
  }

  /** Whether both are the same type; type parameters are compared by name. */
  equals(other: Type): boolean {
    if (this === other) return true;
    walkWork(1);
    if (this.nodes !== other.nodes) return false;
    return this.kind === other.kind && this.name === other.name && sameParams(this.params, other.params);
  }
}

function sameParams(a: readonly Type[], b: readonly Type[]): boolean {
  return a.length === b.length && a.every((param, index) => param.equals(b[index]!));
}

export const BOOL_TYPE = new Type('bool', 'bool');
export const BYTES_TYPE = new Type('bytes', 'bytes');
export const DOUBLE_TYPE = new Type('double', 'double');
export const DURATION_TYPE = new Type('duration', 'google.protobuf.Duration');
export const DYN_TYPE = new Type('dyn', 'dyn');
export const ERROR_TYPE = new Type('error', '*error*');
export const INT_TYPE = new Type('int', 'int');
export const NULL_TYPE = new Type('null', 'null_type');
export const STRING_TYPE = new Type('string', 'string');
export const TIMESTAMP_TYPE = new Type('timestamp', 'google.protobuf.Timestamp');
export const TYPE_TYPE = new Type('type', 'type');
export const UINT_TYPE = new Type('uint', 'uint');

/** Types without parameters, except dyn. */
export const SIMPLE_TYPES: readonly Type[] = [
  BOOL_TYPE,
  BYTES_TYPE,
  DOUBLE_TYPE,
  DURATION_TYPE,
  INT_TYPE,
  NULL_TYPE,
  STRING_TYPE,
  TIMESTAMP_TYPE,
  TYPE_TYPE,
  UINT_TYPE,
];

/** Larger types are checked at run time: a type that contains another twice doubles at each level. */
const MAX_NODES = 1000;

/** A type constructed from other types. */
export function constructedType(kind: TypeKind, name: string, params: readonly Type[]): Type {
  const type = new Type(kind, name, { params });
  return type.nodes > MAX_NODES ? DYN_TYPE : type;
}

export function listOf(item: Type): Type {
  return constructedType('list', 'list', [item]);
}

export function mapOf(key: Type, value: Type): Type {
  return constructedType('map', 'map', [key, value]);
}

export function optionalOf(value: Type): Type {
  return constructedType('opaque', 'optional_type', [value]);
}

/** Types of lists, maps and optional values with elements of unknown type. */
export const LIST_TYPE = listOf(DYN_TYPE);
export const MAP_TYPE = mapOf(DYN_TYPE, DYN_TYPE);
export const OPTIONAL_TYPE = optionalOf(DYN_TYPE);

/** The type of a type's name, such as `type(int)`. */
export function typeOfType(type: Type): Type {
  return constructedType('type', 'type', [type]);
}

/** A type without fields, known only by its name. */
export function opaqueType(name: string): Type {
  return new Type('opaque', name);
}

export function structTypeOf(name: string, field: FieldTypes | undefined): Type {
  return new Type('struct', name, { field });
}

/** A type parameter. */
export function paramType(name: string): Type {
  return new Type('param', name);
}

export function isOptionalType(type: Type): boolean {
  return type.kind === 'opaque' && type.name === 'optional_type';
}

/** Whether operations on values of a type are checked at run time. */
export function isDynOrError(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'error';
}

const SHORT: Partial<Record<TypeKind, string>> = {
  duration: 'duration',
  timestamp: 'timestamp',
  error: '!error!',
  null: 'null',
};

/** A type as issues print it: `map(string, list(int))`. */
export function typeText(type: Type): string {
  const short = SHORT[type.kind];
  if (short !== undefined) return short;
  if (type.params.length === 0) return type.name;
  return `${type.name}(${type.params.map(typeText).join(', ')})`;
}

/** A type as it prints itself, for the error about a result of the wrong type. */
export function declaredText(type: Type): string {
  if (type.kind === 'param') return `<${type.name}>`;
  return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(declaredText).join(', ')})`;
}
