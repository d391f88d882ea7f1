/**
 * Ranges of sizes and costs, from the minimum to the maximum. Upstream: SizeEstimate and CostEstimate of cel-go checker/cost.go.
 */

/** Upstream's bounds are 64-bit integers that saturate; here bounds near that end are rounded doubles. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** The largest unsigned 64-bit integer, rounded. */
export const MOST = 2 ** 64;

export const UNKNOWN: Range = { min: 0, max: MOST };
export const NOTHING: Range = { min: 0, max: 0 };

export function exactly(size: number): Range {
  return { min: size, max: size };
}

export function sum(...ranges: readonly Range[]): Range {
  return total(ranges);
}

/** The sum of any number of ranges. */
export function total(ranges: readonly Range[]): Range {
  let [min, max] = [0, 0];
  for (const range of ranges) {
    min = Math.min(MOST, min + range.min);
    max = Math.min(MOST, max + range.max);
  }
  return { min, max };
}

export function product(a: Range, b: Range): Range {
  return { min: Math.min(MOST, a.min * b.min), max: Math.min(MOST, a.max * b.max) };
}

/** A range multiplied by a factor, both bounds rounded up. */
export function scaled({ min, max }: Range, factor: number): Range {
  const scale = (value: number): number => (value === 0 ? 0 : Math.min(MOST, Math.ceil(value * factor)));
  return { min: scale(min), max: scale(max) };
}

/** The range of an alternative: from the lower minimum to the higher maximum. */
export function either(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}
