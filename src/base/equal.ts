/** Deep equality of plain JSON values. An absent field equals an undefined one. Upstream: equality.Semantic.DeepEqual. */

/** Whether two plain JSON values say the same. Shared parts compare by identity, at no cost. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return Number.isNaN(a) && Number.isNaN(b);
  }
  if (Array.isArray(a) || Array.isArray(b)) return Array.isArray(a) && Array.isArray(b) && equalArrays(a, b);
  return equalObjects(a as Record<string, unknown>, b as Record<string, unknown>);
}

function equalArrays(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, index) => deepEqual(item, b[index]));
}

function equalObjects(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  let inBoth = 0;
  for (const key of Object.keys(a)) {
    const value = a[key];
    // What objects inherit is no JSON value, so what is identical is the object's own.
    if (value !== b[key] && !deepEqual(value, ownValue(b, key))) return false;
    if (value !== undefined) inBoth++;
  }
  const keys = Object.keys(b);
  return keys.length === inBoth || keys.every((key) => b[key] === undefined || ownValue(a, key) !== undefined);
}

function ownValue(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
