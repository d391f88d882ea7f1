/** Lists. Upstream: apiserver/pkg/cel/library/lists.go and cel-go ext.Lists. */
import type { Environment } from '@marcbachmann/cel-js';
import { Duration, UnsignedInt } from '@marcbachmann/cel-js/evaluator';
import { define, defineNamespace } from '../define.ts';
import { charge } from '../meter.ts';
import { durationFromNanos, durationNanos } from '../time-values.ts';
import { celCompare, celEquals, FunctionError } from '../values.ts';

/** Declares the library. */
export function defineLists(environment: Environment): void {
  define(environment, {
    'list<A>.isSorted(): bool': (list: unknown[]) =>
      counted(list).every((item, index) => index === 0 || celCompare(list[index - 1], item) <= 0),
    'list<A>.sum(): A': sum,
    'list<A>.min(): A': (list: unknown[]) => extreme(list, 'min'),
    'list<A>.max(): A': (list: unknown[]) => extreme(list, 'max'),
    'list<A>.@indexOf(A): int': (list: unknown[], item: unknown) =>
      BigInt(counted(list).findIndex((other) => celEquals(other, item))),
    'list<A>.@lastIndexOf(A): int': (list: unknown[], item: unknown) =>
      BigInt(counted(list).findLastIndex((other) => celEquals(other, item))),
    'list<A>.slice(int, int): list<A>': slice,
    'list<A>.reverse(): list<A>': (list: unknown[]) => counted(list).toReversed(),
    'list<A>.sort(): list<A>': (list: unknown[]) => {
      charge(list.length * Math.ceil(Math.log2(list.length + 1)));
      return list.toSorted(celCompare);
    },
    'list<A>.distinct(): list<A>': distinct,
    'list<dyn>.flatten(): list<dyn>': (list: unknown[]) => counted(list).flat(1),
    'list<dyn>.flatten(int): list<dyn>': (list: unknown[], depth: bigint) => {
      if (depth < 0n) throw new FunctionError('level must be non-negative');
      return counted(list).flat(Math.min(Number(depth), 250));
    },
  });
  defineNamespace(environment, 'lists', {
    'range(int): list<int>': (count: bigint) => {
      charge(Number(count));
      return Array.from({ length: Math.max(0, Number(count)) }, (_, index) => BigInt(index));
    },
  });
}

function counted(list: unknown[]): unknown[] {
  charge(list.length);
  return list;
}

function sum(list: unknown[]): unknown {
  let total: unknown = 0n;
  for (const [index, item] of counted(list).entries()) total = index === 0 ? item : add(total, item);
  return total;
}

function add(a: unknown, b: unknown): unknown {
  if (typeof a === 'number' && typeof b === 'number') return a + b;
  if (a instanceof UnsignedInt && b instanceof UnsignedInt) return new UnsignedInt(a.valueOf() + b.valueOf());
  if (a instanceof Duration && b instanceof Duration) return durationFromNanos(durationNanos(a) + durationNanos(b));
  if (typeof a !== 'bigint' || typeof b !== 'bigint') throw new FunctionError('no such overload');
  const total = a + b;
  if (BigInt.asIntN(64, total) !== total) throw new FunctionError('integer overflow');
  return total;
}

function extreme(list: unknown[], which: 'min' | 'max'): unknown {
  if (list.length === 0) throw new FunctionError(`${which} called on empty list`);
  const sign = which === 'min' ? 1 : -1;
  return counted(list).reduce((best, item) => (sign * celCompare(item, best) < 0 ? item : best));
}

function slice(list: unknown[], from: bigint, to: bigint): unknown[] {
  if (from < 0n || to < 0n) throw new FunctionError(`cannot slice(${from}, ${to}), negative indexes not supported`);
  if (from > to)
    throw new FunctionError(`cannot slice(${from}, ${to}), start index must be less than or equal to end index`);
  if (to > BigInt(list.length)) throw new FunctionError(`cannot slice(${from}, ${to}), list is length ${list.length}`);
  return counted(list).slice(Number(from), Number(to));
}

function distinct(list: unknown[]): unknown[] {
  charge(list.length * list.length);
  return list.filter((item, index) => list.findIndex((other) => celEquals(other, item)) === index);
}
