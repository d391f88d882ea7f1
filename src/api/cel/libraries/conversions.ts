/** Conversions and sizes. Upstream: cel-go common/stdlib with ConvertToType of common/types. */
import { copyWork, textWork } from '../meter.ts';
import { runeCount } from '../runtime/size-of.ts';
import {
  durationOf,
  floorDivide,
  formatDuration,
  formatTimestamp,
  timestampFrom,
  timestampOf,
} from '../runtime/times.ts';
import { typeOf } from '../runtime/type-of.ts';
import { Duration, FunctionError, isMapValue, mapSize, NO_OVERLOAD, Timestamp, Uint } from '../runtime/values.ts';
import type { Declarations } from '../types/declarations.ts';
import { doubleText } from './numbers.ts';

const identity = (value: unknown): unknown => value;

export function defineConversions(declarations: Declarations): void {
  declarations.define({
    'bool(bool): bool': identity,
    'bool(string): bool': boolOf,
    'bytes(bytes): bytes': identity,
    'bytes(string): bytes': bytesOf,
    'double(double): double': identity,
    'double(int): double': Number,
    'double(string): double': doubleOf,
    'double(uint): double': ({ value }: Uint) => Number(value),
    'duration(duration): duration': identity,
    'duration(int): duration': () => {
      throw conversionError('int', 'google.protobuf.Duration');
    },
    'duration(string): duration': durationOf,
    'timestamp(timestamp): timestamp': identity,
    'timestamp(int): timestamp': (seconds: bigint) => timestampFrom(seconds * 1_000_000_000n),
    'timestamp(string): timestamp': timestampOf,
  });
  declarations.defineCommon('dyn', identity, ['(A): dyn']);
  declarations.defineCommon('type', typeOf, ['(A): type<A>']);
  defineIntegers(declarations);
  declarations.define({
    'string(string): string': identity,
    'string(bool): string': String,
    'string(bytes): string': textOfBytes,
    'string(double): string': doubleText,
    'string(duration): string': formatDuration,
    'string(int): string': String,
    'string(timestamp): string': formatTimestamp,
    'string(uint): string': ({ value }: Uint) => String(value),
  });
  const sized = ['bytes', 'list<A>', 'map<A, B>', 'string'];
  declarations.defineCommon(
    'size',
    sizeOfValue,
    sized.flatMap((type) => [`(${type}): int`, `.(${type}): int`]),
  );
}

function defineIntegers(declarations: Declarations): void {
  declarations.define({
    'int(int): int': identity,
    'int(double): int': (value: number) => wholeOf(value, -(2 ** 63), 'integer overflow'),
    'int(duration): int': ({ nanos }: Duration) => nanos,
    'int(string): int': (text: string) => {
      const value = wholeNumber(text.replace(/^\+(?=\d)/, ''));
      if (value === undefined || BigInt.asIntN(64, value) !== value) throw conversionError('string', 'int');
      return value;
    },
    'int(timestamp): int': ({ nanos }: Timestamp) => floorDivide(nanos, 1_000_000_000n),
    'int(uint): int': ({ value }: Uint) => {
      if (value > 9223372036854775807n) throw new FunctionError('integer overflow');
      return value;
    },
    'uint(uint): uint': identity,
    'uint(double): uint': (value: number) => new Uint(wholeOf(value, -1, 'unsigned integer overflow')),
    'uint(int): uint': (value: bigint) => {
      if (value < 0n) throw new FunctionError('unsigned integer overflow');
      return new Uint(value);
    },
    'uint(string): uint': (text: string) => {
      const value = text.startsWith('-') ? undefined : wholeNumber(text);
      if (value === undefined || BigInt.asUintN(64, value) !== value) throw conversionError('string', 'uint');
      return new Uint(value);
    },
  });
}

/** Units of work for converting one digit. */
const DIGIT_WORK = 0.02;

/** The integer of a text that is short enough to fit into 64 bits; conversion of longer texts to BigInt is slow. */
function wholeNumber(text: string): bigint | undefined {
  textWork(text, DIGIT_WORK);
  const [, sign = '', digits] = /^(-?)0*(\d{1,20})$/.exec(text) ?? [];
  return digits === undefined ? undefined : BigInt(sign + digits);
}

function conversionError(from: string, to: string): FunctionError {
  return new FunctionError(`type conversion error from '${from}' to '${to}'`);
}

function boolOf(text: string): boolean {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(text)) return true;
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(text)) return false;
  throw conversionError('string', 'bool');
}

const DOUBLE = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan)$/i;

function doubleOf(text: string): number {
  textWork(text, DIGIT_WORK);
  const lower = text.toLowerCase().replace(/^\+/, '');
  if (!DOUBLE.test(text) || /^[+-]nan$/i.test(text)) throw conversionError('string', 'double');
  if (lower === 'nan') return Number.NaN;
  if (/inf/.test(lower)) return lower.startsWith('-') ? -Infinity : Infinity;
  const value = Number(text);
  if (!Number.isFinite(value)) throw conversionError('string', 'double');
  return value;
}

/** The integer part of a double that is above `least` and below the end of the type's range. */
function wholeOf(value: number, least: number, problem: string): bigint {
  const most = least < -1 ? 2 ** 63 : 2 ** 64;
  if (!Number.isFinite(value) || value <= least || value >= most) throw new FunctionError(problem);
  if (least === -1 && value < 0) throw new FunctionError(problem);
  return BigInt(Math.trunc(value));
}

/** Upstream charges one operation when the type is unknown. */
function bytesOf(text: string): Uint8Array {
  copyWork(text.length);
  return new Uint8Array(Buffer.from(text));
}

function textOfBytes(bytes: Uint8Array): string {
  copyWork(bytes.length);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new FunctionError('invalid UTF-8 in bytes, cannot convert to string');
  }
}

function countedRunes(text: string): number {
  copyWork(text.length);
  return runeCount(text);
}

function sizeOfValue(value: unknown): bigint {
  if (typeof value === 'string') return BigInt(countedRunes(value));
  if (Array.isArray(value) || value instanceof Uint8Array) return BigInt(value.length);
  if (isMapValue(value)) return BigInt(mapSize(value));
  const isReceiver = value instanceof Timestamp || value instanceof Duration;
  throw new FunctionError(isReceiver ? NO_OVERLOAD : `${NO_OVERLOAD}: size`);
}
