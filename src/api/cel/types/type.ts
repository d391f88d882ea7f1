/** Static types. Upstream: cel-go common/types/types.go and checker/format.go. */

import { walkWork } from '../meter.ts';

/** What a type is, for the rules of assignment. */
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

/** The type of a field; undefined for fields there are not. */
type FieldTypes = (name: string) => Type | undefined;

/** A static type; also the value of `type(x)`. */
export class Type {
  readonly kind: TypeKind;
  /** As the language spells it, without parameters. */
  readonly name: string;
  readonly params: readonly Type[];
  /** The types of a struct's fields; undefined where no field may be selected. */
  readonly field: FieldTypes | undefined;
  /** How many types it is written with, itself included. */
  readonly nodes: number;
  /** There is no type parameter in it. */
  readonly isClosed: boolean;

  constructor(kind: TypeKind, name: string, more: { params?: readonly Type[]; field?: FieldTypes | undefined } = {}) {
    this.kind = kind;
    this.name = name;
    this.params = more.params ?? [];
    this.field = more.field;
    this.nodes = this.params.reduce((sum, param) => sum + param.nodes, 1);
    this.isClosed = kind !== 'param' && this.params.every((param) => param.isClosed);
  }

  /** Whether both are the same type; parameters by name. */
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

/** Types without parameters, but for dyn. */
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

/** A larger type is left to run time: one that has another at two places doubles with each level. */
const MAX_NODES = 1000;

/** A type made of others. */
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

/** Values that may be absent. */
export function optionalOf(value: Type): Type {
  return constructedType('opaque', 'optional_type', [value]);
}

/** The types of lists, maps and optional values about whose insides nothing is said. */
export const LIST_TYPE = listOf(DYN_TYPE);
export const MAP_TYPE = mapOf(DYN_TYPE, DYN_TYPE);
export const OPTIONAL_TYPE = optionalOf(DYN_TYPE);

/** The type of a type's name. */
export function typeOfType(type: Type): Type {
  return constructedType('type', 'type', [type]);
}

/** A type known by its name alone. */
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

/** Whether operations on values of a type are left to run time. */
export function isDynOrError(type: Type): boolean {
  return type.kind === 'dyn' || type.kind === 'error';
}

const SHORT: Partial<Record<TypeKind, string>> = {
  duration: 'duration',
  timestamp: 'timestamp',
  error: '!error!',
  null: 'null',
};

/** As issues print a type: `map(string, list(int))`. */
export function typeText(type: Type): string {
  const short = SHORT[type.kind];
  if (short !== undefined) return short;
  if (type.params.length === 0) return type.name;
  return `${type.name}(${type.params.map(typeText).join(', ')})`;
}

/** As a type prints itself, where a result's type is compared with what is asked for. */
export function declaredText(type: Type): string {
  if (type.kind === 'param') return `<${type.name}>`;
  return type.params.length === 0 ? type.name : `${type.name}(${type.params.map(declaredText).join(', ')})`;
}
