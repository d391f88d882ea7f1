/** JSON with sorted object keys: equal values give equal texts, whatever the order their fields were set in. */

/** A copy of a plain JSON value whose objects have their keys in order. */
export function sortKeys<T>(value: T): T {
  if (Array.isArray(value)) return value.map(sortKeys) as T;
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sortKeys(inner)])) as T;
}

/** The canonical text of a plain JSON value. Undefined fields are left out, as `JSON.stringify` does. */
export function stableStringify(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(stableStringify).join(',')}]`;
  const object = value as Record<string, unknown>;
  const fields: string[] = [];
  for (const key of Object.keys(object).sort()) {
    if (object[key] !== undefined) fields.push(`${JSON.stringify(key)}:${stableStringify(object[key])}`);
  }
  return `{${fields.join(',')}}`;
}
