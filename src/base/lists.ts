/**
 * Lists of any length: a call that spreads more than about 120,000 items (`push(...items)`, `Math.max(...items)`) throws a RangeError.
 * `tools/call-spreads.ts` refuses such calls in the product.
 */

/** Adds the items at the end of the list. */
export function appendAll<T>(list: T[], items: Iterable<T>): void {
  for (const item of items) list.push(item);
}

/** The largest of the values and `least`. */
export function largest(values: Iterable<number>, least = -Infinity): number {
  let extreme = least;
  for (const value of values) extreme = Math.max(extreme, value);
  return extreme;
}

/** The smallest of the values and `most`. */
export function smallest(values: Iterable<number>, most = Infinity): number {
  let extreme = most;
  for (const value of values) extreme = Math.min(extreme, value);
  return extreme;
}

/** Whether a list of allowed values has this one; a list that is absent or empty allows all. */
export function allows(list: readonly string[] | undefined, value: string): boolean {
  return list === undefined || list.length === 0 || list.includes(value);
}
