/** Mutates valid values by a seed: shared by tests of invalid input. */
import fc from 'fast-check';
import type { JsonObject } from '../api/codec/own-property.ts';

/** Values that no field expects. */
export const odd = fc.constantFrom<unknown>(
  null,
  '',
  0,
  -1,
  1e300,
  2 ** 53,
  true,
  [],
  {},
  [null],
  { '': null },
  '\u0000',
  '\uD800',
  '__proto__',
  [[]],
  'a'.repeat(300),
  '1Gi',
  '-5',
  { a: { b: [{}] } },
);

/** The paths of all parts of a value. */
function places(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null) return [[...path]];
  return [
    [...path],
    ...Object.entries(value).flatMap(([key, inner]) =>
      places(inner, [...path, Array.isArray(value) ? Number(key) : key]),
    ),
  ];
}

function replaced(value: unknown, path: readonly (string | number)[], by: unknown): unknown {
  const [head, ...rest] = path;
  if (head === undefined) return by;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (index === head ? replaced(item, rest, by) : item));
  return { ...(value as JsonObject), [head]: replaced((value as JsonObject)[head], rest, by) };
}

/** Where to put what; a place is counted among those there are. */
export const oddChanges = fc.array(fc.tuple(fc.nat(), odd), { minLength: 1, maxLength: 3 });

/** A valid value with odd values at these paths. */
export function spoiled(good: unknown, changes: readonly (readonly [place: number, by: unknown])[]): unknown {
  let value = good;
  for (const [at, by] of changes) {
    const all = places(value);
    value = replaced(value, all[at % all.length]!, by);
  }
  return value;
}
