/** The known name that a misspelt name is nearest to. */

/** The known name nearest to a misspelt one; undefined where none is near. */
export function nearestName(misspelt: string, known: Iterable<string>): string | undefined {
  const most = Math.max(1, Math.floor(misspelt.length / 3));
  const name = misspelt.toLowerCase();
  let [nearest, least]: [string | undefined, number] = [undefined, Infinity];
  for (const candidate of known) {
    const changes = distanceWithin(most, name, candidate.toLowerCase());
    if (changes < least) [nearest, least] = [candidate, changes];
  }
  return least <= most ? nearest : undefined;
}

/** `; did you mean X?`, or nothing where no known name is near. */
export function didYouMean(misspelt: string, known: Iterable<string>): string {
  const nearest = nearestName(misspelt, known);
  return nearest === undefined ? '' : `; did you mean ${nearest}?`;
}

/**
 * A name and its prefix are near, however long the rest; other names that differ by more than `most` in length are
 * not.
 */
function distanceWithin(most: number, a: string, b: string): number {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  if (short.length >= LEAST_STEM && long.startsWith(short)) return Math.min(most, long.length - short.length);
  return long.length - short.length > most ? Infinity : distance(a, b);
}

/** Shorter prefixes are common to too many names. */
const LEAST_STEM = 4;

/** The Damerau-Levenshtein distance: characters inserted, deleted, replaced, and neighbours swapped. */
function distance(a: string, b: string): number {
  let before: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let least = Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, before[j - 2]! + 1);
      next.push(least);
    }
    [before, row] = [row, next];
  }
  return row[b.length]!;
}
