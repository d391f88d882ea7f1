/** Deep equality of plain JSON values. An absent field equals an undefined one. Upstream: equality.Semantic.DeepEqual. */

/** For each object or list, the one it was last found to differ from. */
export type Differing = WeakMap<object, unknown>;

/**
 * Whether two plain JSON values are equal. Shared parts are compared by identity, at no cost. `differing`: collects
 * the pairs that differ, so that a caller that then compares the values level by level walks none of them twice.
 */
export function deepEqual(a: unknown, b: unknown, differing?: Differing): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    return Number.isNaN(a) && Number.isNaN(b);
  }
  if (differing?.get(a) === b) return false;
  const isEqual =
    Array.isArray(a) || Array.isArray(b)
      ? Array.isArray(a) && Array.isArray(b) && equalArrays(a, b, differing)
      : equalObjects(a as Record<string, unknown>, b as Record<string, unknown>, differing);
  if (!isEqual) differing?.set(a, b);
  return isEqual;
}

function equalArrays(a: readonly unknown[], b: readonly unknown[], differing: Differing | undefined): boolean {
  return a.length === b.length && a.every((item, index) => deepEqual(item, b[index], differing));
}

function equalObjects(
  a: Record<string, unknown>,
  b: Record<string, unknown>,
  differing: Differing | undefined,
): boolean {
  let inBoth = 0;
  for (const key of Object.keys(a)) {
    const value = a[key];
    // Inherited properties are no JSON values, so an identical value is the object's own.
    if (value !== b[key] && !deepEqual(value, ownValue(b, key), differing)) return false;
    if (value !== undefined) inBoth++;
  }
  const keys = Object.keys(b);
  return keys.length === inBoth || keys.every((key) => b[key] === undefined || ownValue(a, key) !== undefined);
}

function ownValue(object: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}
