/** JSON with sorted object keys: equal values give equal texts, whatever the order their fields were set in. */

/** The canonical text of a plain JSON value. Undefined fields are left out, as `JSON.stringify` does. */
export function stableStringify(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) return `[${value.map(stableStringify).join(',')}]`;
  const object = value as Record<string, unknown>;
  const fields: string[] = [];
  for (const key of Object.keys(object).sort()) {
    if (object[key] !== undefined) fields.push(`${JSON.stringify(key)}:${stableStringify(object[key])}`);
  }
  return `{${fields.join(',')}}`;
}
