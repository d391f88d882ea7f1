/** Comparing resourceVersions: decimal numbers of any length, as v1.35 and later promise clients. */

/** Negative, zero or positive as `a` is older than, equal to or newer than `b`. '' is older than everything. */
export function compareRevisions(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}
