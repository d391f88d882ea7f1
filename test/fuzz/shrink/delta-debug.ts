// Zeller's delta debugging: a minimal list of items with which a check still fails.

/** `fails` is called with sublists in order; the whole list is known to fail. */
export async function deltaDebug<T>(
  items: readonly T[],
  fails: (items: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let kept = items;
  let parts = 2;
  while (kept.length >= 2) {
    const size = Math.ceil(kept.length / parts);
    const rest = await firstFailing(kept, size, fails);
    if (rest !== undefined) {
      kept = rest;
      parts = Math.max(parts - 1, 2);
    } else if (parts >= kept.length) {
      break;
    } else {
      parts = Math.min(2 * parts, kept.length);
    }
  }
  return kept.length === 1 && (await fails([])) ? [] : kept;
}

async function firstFailing<T>(
  items: readonly T[],
  size: number,
  fails: (items: readonly T[]) => Promise<boolean>,
): Promise<readonly T[] | undefined> {
  // The last exchanges are the likeliest cause, so removing the first ones is tried first.
  for (let from = 0; from < items.length; from += size) {
    const rest = items.toSpliced(from, size);
    if (await fails(rest)) return rest;
  }
  return undefined;
}
