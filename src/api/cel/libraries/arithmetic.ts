/** Operators of numbers, texts, lists and times. Upstream: cel-go common/stdlib with the arithmetic of common/types. */
import { copyWork } from '../meter.ts';
import type { Declarations } from '../types/declarations.ts';
import { celCompare, celEquals, indexOfEqual, isComparable } from '../runtime/equality.ts';
import { GrowingList } from '../runtime/growing.ts';
import { KeyedList } from '../runtime/keyed-list.ts';
import { durationFrom, timestampFrom } from '../runtime/times.ts';
import { Duration, FunctionError, isMapValue, mapValue, NO_OVERLOAD, Timestamp, Uint } from '../runtime/values.ts';

export function defineOperators(declarations: Declarations): void {
  const define = declarations.defineCommon.bind(declarations);
  define('_?_:_', noOverload, ['(bool, A, A): A']);
  define('_&&_', noOverload, ['(bool, bool): bool']);
  define('_||_', noOverload, ['(bool, bool): bool']);
  define('@not_strictly_false', noOverload, ['(bool): bool']);
  define('!_', not, ['(bool): bool']);
  define('_==_', celEquals, ['(A, A): bool']);
  define('_!=_', (a: unknown, b: unknown) => !celEquals(a, b), ['(A, A): bool']);
  define('_[_]', noOverload, ['(list<A>, int): A', '(map<A, B>, A): B']);
  define('@in', contains, ['(A, list<A>): bool', '(A, map<A, B>): bool']);
  define('_+_', plus, [
    ...binarySignatures(['bytes', 'double', 'duration']),
    '(duration, timestamp): timestamp',
    '(timestamp, duration): timestamp',
    ...binarySignatures(['int', 'list<A>', 'string', 'uint']),
  ]);
  define('_/_', divide, binarySignatures(['double', 'int', 'uint']));
  define('_%_', modulo, binarySignatures(['int', 'uint']));
  define('_*_', multiply, binarySignatures(['double', 'int', 'uint']));
  define('-_', negate, ['(double): double', '(int): int']);
  define('_-_', minus, [
    ...binarySignatures(['double', 'duration', 'int']),
    '(timestamp, duration): timestamp',
    '(timestamp, timestamp): duration',
    ...binarySignatures(['uint']),
  ]);
  defineOrder(declarations);
}

function binarySignatures(types: readonly string[]): string[] {
  return types.map((type) => `(${type}, ${type}): ${type}`);
}

const ORDERED_PAIRS = [
  ...['bool', 'int', 'uint', 'double', 'string', 'bytes', 'timestamp', 'duration'].map((type) => [type, type]),
  ...[
    ['int', 'double'],
    ['int', 'uint'],
    ['uint', 'double'],
    ['uint', 'int'],
    ['double', 'int'],
    ['double', 'uint'],
  ],
] as const;

function defineOrder(declarations: Declarations): void {
  const operators: readonly [string, (order: number) => boolean][] = [
    ['_<_', (order) => order < 0],
    ['_<=_', (order) => order <= 0],
    ['_>_', (order) => order > 0],
    ['_>=_', (order) => order >= 0],
  ];
  const signatures = ORDERED_PAIRS.map(([a, b]) => `(${a}, ${b}): bool`);
  for (const [name, holds] of operators) {
    const compare = (a: unknown, b: unknown): boolean => {
      if (!isComparable(a)) throw new FunctionError(`${NO_OVERLOAD}: ${name}`);
      return holds(celCompare(a, b));
    };
    declarations.defineCommon(name, compare, signatures);
  }
}

function noOverload(): never {
  throw new FunctionError(NO_OVERLOAD);
}

/** As upstream, errors for texts and times are shorter than those for other types. */
function unsupported(name: string, left: unknown): never {
  const isReceiver = typeof left === 'string' || left instanceof Timestamp || left instanceof Duration;
  throw new FunctionError(isReceiver ? NO_OVERLOAD : `${NO_OVERLOAD}: ${name}`);
}

function not(value: unknown): boolean {
  return typeof value === 'boolean' ? !value : noOverload();
}

function contains(item: unknown, container: unknown): boolean {
  if (Array.isArray(container)) return indexOfEqual(container, item) >= 0;
  return isMapValue(container) ? mapValue(container, item) !== undefined : noOverload();
}

function int(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new FunctionError('integer overflow');
  return value;
}

function uint(value: bigint): Uint {
  if (BigInt.asUintN(64, value) !== value) throw new FunctionError('unsigned integer overflow');
  return new Uint(value);
}

function plus(a: unknown, b: unknown): unknown {
  if (typeof a === 'bigint') return typeof b === 'bigint' ? int(a + b) : noOverload();
  if (typeof a === 'string') return typeof b === 'string' ? concatTexts(a, b) : noOverload();
  if (typeof a === 'number') return typeof b === 'number' ? a + b : noOverload();
  if (Array.isArray(a)) return Array.isArray(b) ? concatLists(a, b) : noOverload();
  if (a instanceof Uint) return b instanceof Uint ? uint(a.value + b.value) : noOverload();
  if (a instanceof Uint8Array) return b instanceof Uint8Array ? bytes(a, b) : noOverload();
  if (a instanceof Duration) return plusDuration(b, a);
  if (a instanceof Timestamp) return b instanceof Duration ? timestampFrom(a.nanos + b.nanos) : noOverload();
  return unsupported('_+_', a);
}

function plusDuration(a: unknown, b: Duration): unknown {
  if (a instanceof Duration) return durationFrom(a.nanos + b.nanos);
  return a instanceof Timestamp ? timestampFrom(a.nanos + b.nanos) : noOverload();
}

/** A repeatedly doubled text exceeds the cost limit before it exhausts memory. */
function concatTexts(a: string, b: string): string {
  const length = a.length + b.length;
  if (length > 1_000_000) copyWork(length);
  return a + b;
}

function bytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  copyWork(a.length + b.length);
  return new Uint8Array(Buffer.concat([a, b]));
}

/** Upstream concatenates lists in constant time; here a copy is charged by its size. */
function concatLists(a: unknown[], b: unknown[]): unknown[] {
  if (a instanceof GrowingList) {
    for (const item of b) a.push(item);
    return a;
  }
  if (a instanceof KeyedList) return a.plus(b);
  copyWork(a.length + b.length);
  return [...a, ...b];
}

function minus(a: unknown, b: unknown): unknown {
  if (typeof a === 'bigint') return typeof b === 'bigint' ? int(a - b) : noOverload();
  if (typeof a === 'number') return typeof b === 'number' ? a - b : noOverload();
  if (a instanceof Uint) return b instanceof Uint ? uint(a.value - b.value) : noOverload();
  if (a instanceof Duration) return b instanceof Duration ? durationFrom(a.nanos - b.nanos) : noOverload();
  if (!(a instanceof Timestamp)) return unsupported('_-_', a);
  if (b instanceof Duration) return timestampFrom(a.nanos - b.nanos);
  return b instanceof Timestamp ? durationFrom(a.nanos - b.nanos) : noOverload();
}

function multiply(a: unknown, b: unknown): unknown {
  if (typeof a === 'bigint') return typeof b === 'bigint' ? int(a * b) : noOverload();
  if (typeof a === 'number') return typeof b === 'number' ? a * b : noOverload();
  if (a instanceof Uint) return b instanceof Uint ? uint(a.value * b.value) : noOverload();
  return unsupported('_*_', a);
}

function divide(a: unknown, b: unknown): unknown {
  if (typeof a === 'number') return typeof b === 'number' ? a / b : noOverload();
  return integerDivision(a, b, {
    name: '_/_',
    byZero: 'division by zero',
    compute: (x, y) => x / y,
  });
}

function modulo(a: unknown, b: unknown): unknown {
  return integerDivision(a, b, {
    name: '_%_',
    byZero: 'modulus by zero',
    compute: (x, y) => x % y,
  });
}

function integerDivision(
  a: unknown,
  b: unknown,
  { name, byZero, compute }: { name: string; byZero: string; compute: (x: bigint, y: bigint) => bigint },
): unknown {
  const [left, right] = a instanceof Uint ? [a.value, b instanceof Uint ? b.value : undefined] : [a, b];
  if (typeof left !== 'bigint') return unsupported(name, a);
  if (typeof right !== 'bigint') return noOverload();
  if (right === 0n) throw new FunctionError(byZero);
  if (a instanceof Uint) return uint(compute(left, right));
  // The smallest integer divided by -1 does not fit; as upstream, its remainder fails too.
  if (right === -1n) int(-left);
  return int(compute(left, right));
}

function negate(value: unknown): unknown {
  if (typeof value === 'bigint') return int(-value);
  if (typeof value === 'number') return -value;
  if (value instanceof Duration) return durationFrom(-value.nanos);
  return typeof value === 'boolean' ? noOverload() : unsupported('-_', value);
}
