/** JSON with sorted object keys: equal values give equal texts, whatever the order their fields were set in. */

/** A copy of a plain JSON value whose objects have their keys in order. */
export function sortKeys<T>(value: T): T {
  if (Array.isArray(value)) return value.map(sortKeys) as T;
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(sortedByKey(value)).map(([key, inner]) => [key, sortKeys(inner)])) as T;
}

/** A copy with the keys in order; the values stay as they are. */
export function sortedByKey(value: object): { [key: string]: unknown } {
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The canonical text of a plain JSON value. Undefined fields are left out, as `JSON.stringify` does. */
export function stableStringify(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) text += `${text === '' ? '' : ','}${stableStringify(item)}`;
    return `[${text}]`;
  }
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object).sort()) {
    const inner = object[key];
    if (inner !== undefined) text += `${text === '' ? '' : ','}${quoted(key)}:${stableStringify(inner)}`;
  }
  return `{${text}}`;
}

const PLAIN_NAME = /^[\w./-]*$/;

function quoted(name: string): string {
  return PLAIN_NAME.test(name) ? `"${name}"` : JSON.stringify(name);
}
