/** The type of a value. Upstream: ref.Val's Type in cel-go common/types. */
import {
  BOOL_TYPE,
  BYTES_TYPE,
  DOUBLE_TYPE,
  DURATION_TYPE,
  INT_TYPE,
  LIST_TYPE,
  MAP_TYPE,
  NULL_TYPE,
  OPTIONAL_TYPE,
  STRING_TYPE,
  TIMESTAMP_TYPE,
  Type,
  TYPE_TYPE,
  UINT_TYPE,
} from '../types/type.ts';
import { type CelObject, Duration, isMapValue, Optional, Timestamp, TYPE_NAME, Uint } from './values.ts';

/** The type of a value; lists and maps without the types of their elements. */
export function typeOf(value: unknown): Type {
  switch (typeof value) {
    case 'string':
      return STRING_TYPE;
    case 'bigint':
      return INT_TYPE;
    case 'number':
      return DOUBLE_TYPE;
    case 'boolean':
      return BOOL_TYPE;
    default:
      return typeOfObject(value as object | null);
  }
}

function typeOfObject(value: object | null): Type {
  if (value === null) return NULL_TYPE;
  if (Array.isArray(value)) return LIST_TYPE;
  if (isMapValue(value)) return MAP_TYPE;
  if (value instanceof Uint) return UINT_TYPE;
  if (value instanceof Uint8Array) return BYTES_TYPE;
  if (value instanceof Duration) return DURATION_TYPE;
  if (value instanceof Timestamp) return TIMESTAMP_TYPE;
  if (value instanceof Optional) return OPTIONAL_TYPE;
  if (value instanceof Type) return TYPE_TYPE;
  return new Type('struct', (value as CelObject)[TYPE_NAME]);
}

/** Whether a value fits a declared type. Only the first item or entry of lists and maps is checked. */
export function fitsType(value: unknown, type: Type): boolean {
  if (type.kind === 'dyn' || type.kind === 'param') return true;
  if (typeOf(value).name !== type.name) return false;
  if (type.kind === 'list') {
    const items = value as readonly unknown[];
    return items.length === 0 || fitsType(items[0], type.params[0]!);
  }
  if (type.kind !== 'map' || !(value instanceof Map)) return true;
  for (const [key, item] of value) return fitsType(key, type.params[0]!) && fitsType(item, type.params[1]!);
  return true;
}
