// Checks and canonicalises leaf values the way upstream's Go types decode them; each fault carries upstream's text.

import type { ScalarName } from '../schema/type-schema.ts';
import { canonicalQuantity, QUANTITY_FORMAT_TEXT } from '../quantity.ts';
import { formatMoment, parseMoment } from './time-text.ts';

/** A value that does not fit its type: `mismatch` in the terms of a Go unmarshal error, `text` as a whole message. */
export type ScalarFault = { readonly mismatch: string } | { readonly text: string };

/** The Go names of leaf types, for messages. */
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

/** What a Go unmarshal error calls the JSON value. */
export function jsonKind(value: unknown): string {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number' || typeof value === 'bigint') return 'number';
  if (typeof value === 'string') return 'string';
  return Array.isArray(value) ? 'array' : 'object';
}

const MAX_INT64 = (1n << 63n) - 1n;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Decodes a leaf; `report` is called with a fault at most once, and then the result means nothing. */
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
      return decodeInteger('int32', value, report);
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
  // Go takes a list of numbers for bytes as well.
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
const GO_LAYOUTS = { time: '2006-01-02T15:04:05Z07:00', microTime: '2006-01-02T15:04:05.000000Z07:00' };

/** Texts that proved to be times in their canonical form. Objects of one moment repeat the same few over and over. */
const knownTimes = new Set<string>();
const MAX_KNOWN_TIMES = 1024;

function decodeTime(type: 'time' | 'microTime', value: unknown, report: (fault: ScalarFault) => void): unknown {
  if (typeof value !== 'string') {
    report({ text: `json: cannot unmarshal ${jsonKind(value)} into Go value of type string` });
    return value;
  }
  if (type === 'time' && knownTimes.has(value)) return value;
  const moment = parseMoment(value);
  if (moment === undefined) {
    report({
      text: `parsing time ${JSON.stringify(value)} as "${GO_LAYOUTS[type]}": cannot parse ${JSON.stringify(value)} as "2006"`,
    });
    return value;
  }
  if (type === 'time' && CANONICAL_TIME.test(value)) {
    if (knownTimes.size >= MAX_KNOWN_TIMES) knownTimes.clear();
    knownTimes.add(value);
    return value;
  }
  return formatMoment(moment, type === 'time' ? 0 : 6);
}
