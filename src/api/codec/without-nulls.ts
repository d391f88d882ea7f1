import { isObject } from './own-property.ts';

/** The value without null members, which Go's decoder treats as absent. */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const remaining = Object.entries(value).filter(([, inner]) => inner !== null);
  return Object.fromEntries(remaining.map(([key, inner]) => [key, withoutNulls(inner)]));
}
