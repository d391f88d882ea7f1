/** Optional values. Upstream: cel-go cel/library.go (OptionalTypes). */
import { walkWork } from '../meter.ts';
import type { Declarations } from '../types/declarations.ts';
import { Duration, FunctionError, isMapValue, mapSize, Optional, Timestamp, Uint } from '../runtime/values.ts';
import { valueText } from '../runtime/value-text.ts';

/** The year 1, Go's zero time. */
const ZERO_TIME = -62135596800n * 1_000_000_000n;

export function defineOptionals(declarations: Declarations): void {
  declarations.defineNamespaced({
    'optional.of(V): optional<V>': (value: unknown) => Optional.of(value),
    'optional.ofNonZeroValue(V): optional<V>': (value: unknown) => (isZero(value) ? Optional.none : Optional.of(value)),
    'optional.none(): optional<V>': () => Optional.none,
    'optional.unwrap(list<optional<V>>): list<V>': unwrap,
  });
  declarations.define({
    'optional<V>.value(): V': (optional: Optional) => {
      if (!optional.hasValue) throw new FunctionError('optional.none() dereference');
      return optional.content;
    },
    'optional<V>.hasValue(): bool': (optional: Optional) => optional.hasValue,
    'list<optional<V>>.unwrapOpt(): list<V>': unwrap,
    'list<V>.last(): optional<V>': (list: unknown[]) => (list.length === 0 ? Optional.none : Optional.of(list.at(-1))),
    'list<V>.first(): optional<V>': (list: unknown[]) => (list.length === 0 ? Optional.none : Optional.of(list[0])),
  });
  const special = (): never => {
    throw new Error('evaluated where calls are planned');
  };
  declarations.defineCommon('or', special, ['.(optional<V>, optional<V>): optional<V>']);
  declarations.defineCommon('orValue', special, ['.(optional<V>, V): V']);
  const selections = ['(list<V>, int): optional<V>', '(optional<list<V>>, int): optional<V>'];
  const ofMaps = ['(map<K, V>, K): optional<V>', '(optional<map<K, V>>, K): optional<V>'];
  declarations.defineCommon('_[?_]', special, [...selections, ...ofMaps]);
  declarations.defineCommon('_[_]', special, [selections[1]!, ofMaps[1]!]);
}

function isZero(value: unknown): boolean {
  if (value === null || value === false || value === 0 || value === 0n || value === '') return true;
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0;
  if (isMapValue(value)) return mapSize(value) === 0;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof Timestamp) return value.nanos === ZERO_TIME;
  return value instanceof Optional && !value.hasValue;
}

function unwrap(list: unknown[]): unknown[] {
  walkWork(list.length);
  const values: unknown[] = [];
  for (const item of list) {
    if (!(item instanceof Optional)) throw new FunctionError(`value ${valueText(item)} is not optional`);
    if (item.hasValue) values.push(item.content);
  }
  return values;
}
