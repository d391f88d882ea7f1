/**
 * Values between JSON and expressions. Whole numbers are ints (bigint), others doubles, objects Maps; all other types
 * come from schemas or functions. Upstream: apiserver/pkg/cel/common/values.go, cel-go's native type adapter.
 */
import { formatDuration, formatTimestamp } from './runtime/times.ts';
import { Duration, isCelObject, isMapValue, mapEntries, Optional, Timestamp, TO_JSON, Uint } from './runtime/values.ts';

/** JSON as an untyped (`dyn`) value. */
export function dynValue(json: unknown): unknown {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(dynValue);
  const map = new Map<string, unknown>();
  for (const [key, value] of Object.entries(json)) if (value !== undefined) map.set(key, dynValue(value));
  return map;
}

/** A value as JSON: for patches and audit annotations. Throws for what JSON has no word for. */
export function jsonValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint) return jsonValue(value.value);
  if (Array.isArray(value)) return value.map(jsonValue);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Optional) return value.hasValue ? jsonValue(value.content) : undefined;
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (isCelObject(value)) return value[TO_JSON]();
  if (!isMapValue(value)) throw new Error(`no JSON for a value of type ${value.constructor?.name}`);
  return jsonObject(mapEntries(value));
}

function jsonObject(entries: Iterable<[unknown, unknown]>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    const json = jsonValue(value);
    if (json === undefined) continue;
    Object.defineProperty(result, String(key), { value: json, enumerable: true, writable: true, configurable: true });
  }
  return result;
}
