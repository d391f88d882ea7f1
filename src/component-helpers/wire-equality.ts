/**
 * Equality of statuses in their stored form: a zero, an empty text, list or object equals an absent field, since the
 * server drops them. A stricter comparison would write the same status forever. Upstream: equality.Semantic.DeepEqual
 * on structs, where an absent field and its zero value are one. Not for specs, where an explicit zero may have a
 * meaning.
 */
import { deepEqual } from '../base/equal.ts';

/** Whether two statuses are equal when stored. */
export function equalStatus(a: unknown, b: unknown): boolean {
  return deepEqual(withoutZeros(a), withoutZeros(b));
}

function withoutZeros(value: unknown): unknown {
  if (value === null || value === 0 || value === '' || value === false) return undefined;
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => withoutZeros(item) ?? null);
  if (typeof value !== 'object') return value;
  const fields = Object.entries(value)
    .map(([name, field]) => [name, withoutZeros(field)] as const)
    .filter(([, field]) => field !== undefined);
  return fields.length === 0 ? undefined : Object.fromEntries(fields);
}
