/**
 * Shapes of values in scenario files, because an unknown word would silently test nothing. A shape checks a value and throws a
 * `ShapeError` with the place. It also has a JSON schema, from which editors and docs/scenario-steps.md are generated. `1s..20s`
 * and `1..30` stand for a duration or a number drawn from the seed.
 */
import { didYouMean } from '../base/nearest-name.ts';
import { signedMs, spanMs, type Duration } from './duration.ts';

/** Keys and indexes from the root of a file. */
export type Path = readonly (string | number)[];

/** A JSON schema. */
export type Schema = Readonly<Record<string, unknown>>;

/** Checks a value. Throws `ShapeError`. */
export interface Shape {
  (value: unknown, path: Path): void;
  /** Accepts the valid values, and a few more when a schema cannot express the check. */
  readonly schema: Schema;
}

/** Creates a shape from a check and its schema. */
export function shapeOf(schema: Schema, check: (value: unknown, path: Path) => void): Shape {
  return Object.assign((value: unknown, path: Path) => check(value, path), { schema });
}

/** The shape with a description, for editors and documents. */
export function described(description: string, shape: Shape): Shape {
  return shapeOf({ ...shape.schema, description }, shape);
}

/** Patterns of the texts that `spanMs` parses, of which ranges consist. */
const SPAN = String.raw`(?:\d+(?:\.\d+)?(?:ms|s|m|h)|\d+(?:\.\d+)?d)(?:\d+(?:\.\d+)?(?:ms|s|m|h))*`;
const SPAN_TEXT = { type: 'string', pattern: `^${SPAN}$` };
const SPAN_RANGE = { type: 'string', pattern: `^${SPAN}\\.\\.${SPAN}$` };
const NUMBER_RANGE = { type: 'string', pattern: String.raw`^\d+\.\.\d+$` };
const NUMBER = { type: 'number' };

/** The error of an invalid value, with its place. */
export class ShapeError extends Error {
  readonly path: Path;
  constructor(message: string, path: Path) {
    super(message);
    this.name = 'ShapeError';
    this.path = path;
  }
}

/** The range of a random value: whole numbers, or milliseconds of a duration. */
interface Range {
  readonly low: number;
  readonly high: number;
  readonly unit: '' | 'ms';
}

/** The range of a text, including both ends; undefined for other texts, also for a range that ends before it begins. */
export function rangeOf(text: string): Range | undefined {
  const [, low = '', high = ''] = /^(\d[\w.]*?)\.\.(\d[\w.]*)$/.exec(text) ?? [];
  if (low === '') return undefined;
  const range: Range =
    isWhole(low) && isWhole(high)
      ? { low: Number(low), high: Number(high), unit: '' }
      : { low: endMs(low), high: endMs(high), unit: 'ms' };
  return range.low <= range.high ? range : undefined;
}

function isWhole(text: string): boolean {
  return /^\d+$/.test(text);
}

/** NaN for an invalid duration. */
function endMs(text: string): number {
  try {
    return spanMs(text);
  } catch {
    return NaN;
  }
}

function one(what: string, schema: Schema, holds: (value: unknown) => boolean): Shape {
  return shapeOf(schema, (value, path) => {
    if (!holds(value)) throw new ShapeError(`${JSON.stringify(value) ?? 'nothing'} is no ${what}`, path);
  });
}

function isSpan(value: unknown, read: (text: Duration) => number): boolean {
  if (typeof value === 'number') return true;
  if (typeof value !== 'string') return false;
  try {
    return Number.isFinite(read(value));
  } catch {
    return false;
  }
}

/** Any value: the API server or the kubelet validates it. */
export const anything = shapeOf({ title: 'anything' }, () => undefined);
/** A text that is not empty. */
export const text = one(
  'text',
  { title: 'text', type: 'string', minLength: 1 },
  (value) => typeof value === 'string' && value !== '',
);
/** Any text, also an empty one, such as a program's output. */
export const anyText = one('text', { title: 'text', type: 'string' }, (value) => typeof value === 'string');
/** A function, which scenarios in code may have and files cannot. */
export const aFunction = one('function', { not: {} }, (value) => typeof value === 'function');
export const flag = one(
  'true or false',
  { title: 'true or false', type: 'boolean' },
  (value) => typeof value === 'boolean',
);
/** A number of at least 1, without ranges. */
export const seedNumber = one(
  'whole number from 1 on',
  { title: 'whole number from 1 on', type: 'integer', minimum: 1 },
  (value) => Number.isSafeInteger(value) && (value as number) > 0,
);
/** A number, without ranges. */
export const plainNumber = one('number', { title: 'number', ...NUMBER }, (value) => typeof value === 'number');
/** A number, or a range of whole numbers. */
export const number = one(
  'number',
  { title: 'number or range', anyOf: [NUMBER, NUMBER_RANGE] },
  (value) => typeof value === 'number' || isRange(value, ''),
);
/** Milliseconds, or a duration such as `1m30s`, without ranges. */
export const plainSpan = one(
  'span of time, such as 1m30s',
  { title: 'span of time', anyOf: [NUMBER, SPAN_TEXT] },
  (value) => isSpan(value, spanMs),
);
/** Milliseconds, a duration such as `1m30s`, or a range of durations. */
export const span = one(
  'span of time, such as 1m30s',
  { title: 'span of time or range', anyOf: [NUMBER, SPAN_TEXT, SPAN_RANGE] },
  (value) => isSpan(value, spanMs) || isRange(value, 'ms'),
);
/** `span` with an optional minus. */
export const signedSpan = one(
  'span of time, such as -1h',
  {
    title: 'span of time, which may begin with a minus, or range',
    anyOf: [NUMBER, { type: 'string', pattern: `^-?${SPAN}$` }, SPAN_RANGE],
  },
  (value) => isSpan(value, signedMs) || isRange(value, 'ms'),
);

function isRange(value: unknown, unit: Range['unit']): boolean {
  return typeof value === 'string' && rangeOf(value)?.unit === unit;
}

/** One of these words. */
export function oneOf(...words: readonly string[]): Shape {
  return one(`one of ${words.join(', ')}`, { enum: words }, (value) => words.includes(value as string));
}

/** A text that matches the pattern. */
export function textLike(pattern: RegExp, what: string): Shape {
  const schema = { title: what, type: 'string', pattern: pattern.source };
  return one(what, schema, (value) => typeof value === 'string' && pattern.test(value));
}

/** An object with only these fields, of which those in `needed` are required. */
export function fields(known: Readonly<Record<string, Shape>>, needed: readonly string[] = []): Shape {
  return shapeOf(fieldsSchema(known, needed), (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new ShapeError(
        `${JSON.stringify(value) ?? 'nothing'} has not the fields ${Object.keys(known).join(', ')}`,
        path,
      );
    for (const [name, field] of Object.entries(value)) {
      const shape = Object.hasOwn(known, name) ? known[name] : undefined;
      if (shape === undefined) throw new ShapeError(unknownField(name, Object.keys(known)), [...path, name]);
      // Only code can set a field to undefined, which means the same as its absence.
      if (field !== undefined) shape(field, [...path, name]);
    }
    const missing = needed.find((name) => !Object.hasOwn(value, name));
    if (missing !== undefined) throw new ShapeError(`${missing} is missing`, path);
  });
}

function fieldsSchema(known: Readonly<Record<string, Shape>>, needed: readonly string[]): Schema {
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(known).map(([name, { schema }]) => [name, schema])),
    required: needed,
    additionalProperties: false,
  };
}

function unknownField(name: string, known: readonly string[]): string {
  const hint = didYouMean(name, known);
  return hint === ''
    ? `unknown field; there are ${known.join(', ')}`
    : `unknown field${hint} There are ${known.join(', ')}`;
}

/**
 * Fields with rules for their combination: `wrong` returns the violation in words, and `rule` expresses the rules in JSON schema
 * as far as possible.
 */
export function meant(
  shape: Shape,
  wrong: (value: Readonly<Record<string, unknown>>) => string | undefined,
  rule: Schema = {},
): Shape {
  return shapeOf({ ...shape.schema, ...rule }, (value, path) => {
    shape(value, path);
    const complaint = wrong(value as Readonly<Record<string, unknown>>);
    if (complaint !== undefined) throw new ShapeError(complaint, path);
  });
}

/** A list of values of the shape. */
export function listOf(shape: Shape): Shape {
  return shapeOf({ type: 'array', items: shape.schema }, (value, path) => {
    if (!Array.isArray(value)) throw new ShapeError('is no list', path);
    for (const [index, item] of value.entries()) shape(item, [...path, index]);
  });
}

/** An object with any names and values of the shape. */
export function namesTo(shape: Shape): Shape {
  return shapeOf({ type: 'object', additionalProperties: shape.schema }, (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new ShapeError('has no names', path);
    for (const [name, item] of Object.entries(value)) shape(item, [...path, name]);
  });
}

/** `objects` for objects, `others` for all other values. */
export function objectOr(objects: Shape, others: Shape): Shape {
  return shapeOf({ anyOf: [objects.schema, others.schema] }, (value, path) =>
    (typeof value === 'object' && value !== null ? objects : others)(value, path),
  );
}

/** Functions, or values of the other shape. */
export function functionOr(others: Shape): Shape {
  return shapeOf(others.schema, (value, path) => (typeof value === 'function' ? undefined : others(value, path)));
}

/** `lists` for lists, `others` for all other values. */
export function listOr(lists: Shape, others: Shape): Shape {
  return shapeOf({ anyOf: [lists.schema, others.schema] }, (value, path) =>
    (Array.isArray(value) ? lists : others)(value, path),
  );
}
