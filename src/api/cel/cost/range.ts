/** Ranges of sizes and costs, from the best to the worst case. Upstream: SizeEstimate and CostEstimate of cel-go checker/cost.go. */

/** From … to. Upstream's are 64-bit integers that stay at their end: numbers near it are rounded. */
export interface Range {
  readonly min: number;
  readonly max: number;
}

/** The end of 64 bits. */
export const MOST = 2 ** 64;

export const UNKNOWN: Range = { min: 0, max: MOST };
export const NOTHING: Range = { min: 0, max: 0 };

export function exactly(size: number): Range {
  return { min: size, max: size };
}

export function sum(...ranges: readonly Range[]): Range {
  return total(ranges);
}

/** The sum of however many. */
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

/** Rounded up. */
export function scaled({ min, max }: Range, factor: number): Range {
  const scale = (value: number): number => (value === 0 ? 0 : Math.min(MOST, Math.ceil(value * factor)));
  return { min: scale(min), max: scale(max) };
}

/** What either may be. */
export function either(a: Range, b: Range): Range {
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}
