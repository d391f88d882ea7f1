/** Functions behind the two-variable macros that create maps. Upstream: cel-go ext/comprehensions.go. */
import { walkWork } from '../meter.ts';
import { GrowingMap } from '../runtime/growing.ts';
import {
  copyOfMap,
  FunctionError,
  isMapValue,
  type MapValue,
  mapEntries,
  mapSize,
  mapValue,
  setEntry,
} from '../runtime/values.ts';
import { valueText } from '../runtime/value-text.ts';
import type { Declarations } from '../types/declarations.ts';

/** Declares the function that the macros call; expressions cannot spell its name. */
export function defineMaps(declarations: Declarations): void {
  declarations.defineNamespaced({
    'cel.@mapInsert(map<K, V>, K, V): map<K, V>': (map: MapValue, ...entry: [unknown, unknown]) =>
      inserted(map, [entry]),
    'cel.@mapInsert(map<K, V>, map<K, V>): map<K, V>': (map: MapValue, more: MapValue) =>
      inserted(map, isMapValue(more) ? mapEntries(more) : []),
  });
}

function inserted(map: MapValue, entries: Iterable<readonly [unknown, unknown]>): Map<unknown, unknown> {
  if (!(map instanceof GrowingMap)) walkWork(mapSize(map));
  const target = map instanceof GrowingMap ? map : copyOfMap(map);
  for (const [key, value] of entries) {
    if (mapValue(target, key) !== undefined)
      throw new FunctionError(`insert failed: key ${valueText(key)} already exists`);
    setEntry(target, key, value);
  }
  return target;
}
