/** Functions of lists. Upstream: apiserver/pkg/cel/library/lists.go and cel-go ext.Lists, version 3. */
import { walkWork } from '../meter.ts';
import { celCompare, celEquals, indexOfEqual, isComparable, orderOf } from '../runtime/equality.ts';
import { durationFrom } from '../runtime/times.ts';
import { typeOf } from '../runtime/type-of.ts';
import { Duration, FunctionError, NO_OVERLOAD, Uint } from '../runtime/values.ts';
import type { Declarations } from '../types/declarations.ts';

const COMPARABLE = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes'];

export function defineLists(declarations: Declarations): void {
  for (const type of COMPARABLE) {
    declarations.define({
      [`list<${type}>.isSorted(): bool`]: isSorted,
      [`list<${type}>.max(): ${type}`]: (list: unknown[]) => extreme(list, 'max'),
      [`list<${type}>.min(): ${type}`]: (list: unknown[]) => extreme(list, 'min'),
    });
    declarations.defineCommon('sort', (list: unknown[]) => sortBy(list, list), [`.(list<${type}>): list<${type}>`]);
    declarations.defineCommon('@sortByAssociatedKeys', sortBy, [`.(list<T>, list<${type}>): list<T>`]);
  }
  const zeros = { int: 0n, uint: new Uint(0n), double: 0, duration: new Duration(0n) };
  for (const [type, zero] of Object.entries(zeros))
    declarations.define({
      [`list<${type}>.sum(): ${type}`]: (list: unknown[]) => list.reduce(add, zero),
    });
  declarations.define({
    'list<A>.indexOf(A): int': (list: unknown[], item: unknown) => BigInt(indexOfEqual(list, item)),
    'list<A>.lastIndexOf(A): int': (list: unknown[], item: unknown) =>
      BigInt(
        list.findLastIndex((other) => {
          walkWork(1);
          return celEquals(other, item);
        }),
      ),
    'list<T>.slice(int, int): list<T>': slice,
    'list<list<T>>.flatten(): list<T>': (list: unknown[]) => flatten(list, 1),
    'list<dyn>.flatten(int): list<dyn>': (list: unknown[], depth: bigint) => {
      if (depth < 0n) throw new FunctionError('level must be non-negative');
      return flatten(list, Number(depth));
    },
    'list<T>.reverse(): list<T>': (list: unknown[]) => list.toReversed(),
    'list<T>.distinct(): list<T>': (list: unknown[]) =>
      list.filter((item, index) => indexOfEqual(list, item) === index),
  });
  declarations.defineNamespaced({
    'lists.range(int): list<int>': (count: bigint) =>
      Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index)),
  });
}

/**
 * Flattens level by level, charging each: a list that occurs at many places makes the result far larger than its price covers.
 */
function flatten(list: readonly unknown[], depth: number): unknown[] {
  let flat = [...list];
  for (let level = 0; level < depth && flat.some(Array.isArray); level++) {
    let size = 0;
    for (const item of flat) size += Array.isArray(item) ? item.length : 1;
    walkWork(size);
    flat = flattenOnce(flat);
  }
  return flat;
}

function flattenOnce(list: readonly unknown[]): unknown[] {
  const flat: unknown[] = [];
  for (const item of list)
    if (Array.isArray(item)) for (const inside of item) flat.push(inside);
    else flat.push(item);
  return flat;
}

function comparable(item: unknown): unknown {
  if (!isComparable(item)) throw new FunctionError(NO_OVERLOAD);
  return item;
}

/** Values per unit of work when values are compared. */
const COMPARISON_WORK = 3;

function isSorted(list: unknown[]): boolean {
  walkWork(list.length * COMPARISON_WORK);
  return list.every((item, index) => compareOrPass(index === 0 ? item : list[index - 1], comparable(item)) <= 0);
}

/** As upstream, values whose types have no common order count as equal. */
function compareOrPass(a: unknown, b: unknown): number {
  return orderOf(a, b) ?? 0;
}

function add(a: unknown, b: unknown): unknown {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  if (a instanceof Duration && b instanceof Duration) return durationFrom(a.nanos + b.nanos);
  if (a instanceof Uint && b instanceof Uint)
    return new Uint(within(a.value + b.value, BigInt.asUintN, 'unsigned integer'));
  if (typeof a !== 'bigint' || typeof b !== 'bigint') throw new FunctionError(NO_OVERLOAD);
  return within(a + b, BigInt.asIntN, 'integer');
}

function within(value: bigint, wrap: (bits: number, value: bigint) => bigint, what: string): bigint {
  if (wrap(64, value) !== value) throw new FunctionError(`${what} overflow`);
  return value;
}

function extreme(list: unknown[], which: 'min' | 'max'): unknown {
  if (list.length === 0) throw new FunctionError(`${which} called on empty list`);
  const sign = which === 'min' ? 1 : -1;
  walkWork(list.length * COMPARISON_WORK);
  return list.reduce((best, item) => (sign * compareOrPass(best, comparable(item)) > 0 ? item : best));
}

function slice(list: unknown[], from: bigint, to: bigint): unknown[] {
  if (from < 0n || to < 0n) throw new FunctionError(`cannot slice(${from}, ${to}), negative indexes not supported`);
  if (from > to)
    throw new FunctionError(`cannot slice(${from}, ${to}), start index must be less than or equal to end index`);
  if (to > BigInt(list.length)) throw new FunctionError(`cannot slice(${from}, ${to}), list is length ${list.length}`);
  return list.slice(Number(from), Number(to));
}

function sortBy(list: unknown[], keys: unknown[]): unknown[] {
  if (!Array.isArray(list))
    throw new FunctionError(`${NO_OVERLOAD}: ${list === keys ? 'sort' : '@sortByAssociatedKeys'}`);
  if (list.length === 0) return list;
  if (!isComparable(keys[0])) throw new FunctionError('list elements must be comparable');
  const { name } = typeOf(keys[0]);
  if (keys.some((key) => typeOf(key).name !== name)) throw new FunctionError('list elements must have the same type');
  // Upstream charges one operation for lists of unknown type.
  walkWork(list.length * Math.ceil(Math.log2(list.length + 1)));
  const order = [...list.keys()].toSorted((a, b) => celCompare(keys[a], keys[b]));
  return order.map((index) => list[index]);
}
