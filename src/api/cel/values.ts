/**
 * Converts values between JSON and expressions. Integers are ints (bigint), other numbers doubles, objects Maps; all other types
 * come from schemas or functions. Upstream: apiserver/pkg/cel/common/values.go, cel-go's native type adapter.
 */
import { chargeWork } from './meter.ts';
import { formatDuration, formatTimestamp } from './runtime/times.ts';
import { typeOf } from './runtime/type-of.ts';
import {
  Duration,
  FunctionError,
  isCelObject,
  isMapValue,
  mapEntries,
  Optional,
  Timestamp,
  TO_JSON,
  Uint,
} from './runtime/values.ts';
import { withinLimit } from './texts.ts';

/** JSON as an untyped (`dyn`) value. */
export function dynValue(json: unknown): unknown {
  if (typeof json === 'number') return Number.isInteger(json) ? BigInt(json) : json;
  if (typeof json !== 'object' || json === null) return json;
  if (Array.isArray(json)) return json.map(dynValue);
  const map = new Map<string, unknown>();
  for (const [key, value] of Object.entries(json)) if (value !== undefined) map.set(key, dynValue(value));
  return map;
}

/**
 * A value as JSON, for patches and audit annotations. Throws `RuntimeError` for values without a JSON form, and for values that
 * are too large.
 */
export function jsonValue(value: unknown): unknown {
  return withinLimit(() => jsonOf(value));
}

/** Characters per unit of work. A value that occurs several times is written and counted several times. */
const CHARACTERS_OF_UNIT = 10;

function jsonOf(value: unknown): unknown {
  chargeWork(typeof value === 'string' ? 1 + value.length / CHARACTERS_OF_UNIT : 1);
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint) return jsonOf(value.value);
  if (Array.isArray(value)) return value.map(jsonOf);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Optional) return value.hasValue ? jsonOf(value.content) : undefined;
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (isCelObject(value)) return value[TO_JSON]();
  if (!isMapValue(value)) throw new FunctionError(`unsupported conversion to JSON from ${typeOf(value).name}`);
  return jsonObject(mapEntries(value));
}

function jsonObject(entries: Iterable<[unknown, unknown]>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of entries) {
    const json = jsonOf(value);
    if (json === undefined) continue;
    Object.defineProperty(result, String(key), { value: json, enumerable: true, writable: true, configurable: true });
  }
  return result;
}
