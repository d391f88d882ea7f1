// Validates and canonicalises leaf values as upstream's Go types decode them; each fault has upstream's text.

import type { ScalarName } from '../schema/type-schema.ts';
import { canonicalQuantity, QUANTITY_FORMAT_TEXT } from '../quantity.ts';
import { timeFault } from './time-fault.ts';
import { formatMoment, parseMoment } from './time-text.ts';

/**
 * A value that does not fit its type. `mismatch` is the value in a Go unmarshal error, `type` the target type when it differs
 * from the leaf's; `text` is a whole message.
 */
export type ScalarFault = { readonly mismatch: string; readonly type?: ScalarName } | { readonly text: string };

/** The Go names of leaf types, for error messages. */
export const GO_SCALAR_NAMES: Record<ScalarName, string> = {
  string: 'string',
  boolean: 'bool',
  int32: 'int32',
  int64: 'int64',
  double: 'float64',
  bytes: '[]uint8',
  quantity: 'resource.Quantity',
  time: 'v1.Time',
  microTime: 'v1.MicroTime',
  intOrString: 'intstr.IntOrString',
};

/** The name of a JSON value's type in a Go unmarshal error. */
export function jsonKind(value: unknown): string {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' || typeof value === 'bigint') return 'number';
  if (typeof value === 'string') return 'string';
  return Array.isArray(value) ? 'array' : 'object';
}

const MAX_INT64 = (1n << 63n) - 1n;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Decodes a leaf. `report` is called at most once; after that the result is meaningless. */
export function decodeScalar(scalar: ScalarName, value: unknown, report: (fault: ScalarFault) => void): unknown {
  switch (scalar) {
    case 'string':
      if (typeof value !== 'string') report({ mismatch: jsonKind(value) });
      return value;
    case 'boolean':
      if (typeof value !== 'boolean') report({ mismatch: jsonKind(value) });
      return value;
    case 'int32':
    case 'int64':
      return decodeInteger(scalar, value, report);
    case 'double':
      if (typeof value === 'bigint') return Number(value);
      if (typeof value !== 'number') report({ mismatch: jsonKind(value) });
      else if (!Number.isFinite(value)) report({ mismatch: 'number out of range' });
      return value;
    case 'bytes':
      return decodeBytes(value, report);
    case 'quantity':
      return decodeQuantity(value, report);
    case 'time':
    case 'microTime':
      return decodeTime(scalar, value, report);
    case 'intOrString':
      if (typeof value === 'string') return value;
      return decodeInteger('int32', value, (fault) => report({ type: 'int32', ...fault }));
  }
}

function decodeInteger(type: 'int32' | 'int64', value: unknown, report: (fault: ScalarFault) => void): unknown {
  if (typeof value === 'bigint') {
    if (type === 'int32' || value > MAX_INT64 || value < -MAX_INT64 - 1n) report({ mismatch: `number ${value}` });
    return value;
  }
  if (typeof value !== 'number') report({ mismatch: jsonKind(value) });
  else if (!Number.isInteger(value) || (type === 'int32' && (value | 0) !== value))
    report({ mismatch: `number ${value}` });
  return value === 0 ? 0 : value;
}

function decodeBytes(value: unknown, report: (fault: ScalarFault) => void): unknown {
  // Go also accepts a list of numbers as bytes.
  if (Array.isArray(value) && value.every((item) => Number.isInteger(item) && item >= 0 && item <= 255))
    return Buffer.from(value as number[]).toString('base64');
  if (typeof value !== 'string') {
    report({ mismatch: jsonKind(value) });
    return value;
  }
  if (BASE64.test(value)) return value;
  const text = value.replace(/[\r\n]/g, '');
  if (BASE64.test(text)) return text;
  const bad = text.search(/[^A-Za-z0-9+/]/);
  report({ text: `illegal base64 data at input byte ${bad < 0 ? text.length - (text.length % 4) : bad}` });
  return value;
}

function decodeQuantity(value: unknown, report: (fault: ScalarFault) => void): unknown {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'bigint') {
    report({ text: QUANTITY_FORMAT_TEXT });
    return value;
  }
  const text = canonicalQuantity(String(value).replace('e+', 'e'));
  if (text === undefined) report({ text: QUANTITY_FORMAT_TEXT });
  return text;
}

const CANONICAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
/** Go requires exactly six digits. */
const MICROSECONDS = /\.\d{6}\D/;

/** Texts that are known to be times in canonical form. Objects that were written together repeat a few times. */
const knownTimes = new Set<string>();
const MAX_KNOWN_TIMES = 1024;

function decodeTime(type: 'time' | 'microTime', value: unknown, report: (fault: ScalarFault) => void): unknown {
  if (typeof value !== 'string') {
    report({ mismatch: jsonKind(value), type: 'string' });
    return value;
  }
  if (type === 'time' && knownTimes.has(value)) return value;
  const moment = parseMoment(value);
  if (moment === undefined || (type === 'microTime' && !MICROSECONDS.test(value))) {
    report({ text: timeFault(value, type === 'time' ? 0 : 6) });
    return value;
  }
  if (type === 'time' && CANONICAL_TIME.test(value)) {
    if (knownTimes.size >= MAX_KNOWN_TIMES) knownTimes.clear();
    knownTimes.add(value);
    return value;
  }
  return formatMoment(moment, type === 'time' ? 0 : 6);
}
