/** Values of the API server's configuration files. `place` is where the value stands, e.g. `jwt[0].issuer`. */
import { isObject, type JsonObject, refuseUnknownFields } from '../api/codec/own-property.ts';

/** An object with no other fields than these. */
export function objectAt(value: unknown, place: string, fields?: readonly string[]): JsonObject {
  if (!isObject(value)) throw new Error(`${place}: Required value`);
  if (fields !== undefined) refuseUnknownFields(value, fields, place);
  return value;
}

export function listAt(value: unknown, place: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${place} is not a list`);
  return value;
}
