/** Milliseconds with three decimals. */
export function roundToMicroseconds(milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000;
}
