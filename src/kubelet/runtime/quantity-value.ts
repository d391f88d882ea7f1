/** Quantities as plain numbers, rounded up as Go's `Value()` and `MilliValue()` do. Exact up to 2^53. Upstream: resource.Quantity. */

const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9, u: 1e-6, m: 1e-3, '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18,
  Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60,
};
const pattern = /^([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)$/;

function scaled(quantity: string, scale: number): number {
  const match = pattern.exec(quantity);
  if (match === null) throw new Error(`quantities must match the regular expression '${pattern.source}', got "${quantity}"`);
  const suffix = suffixes[match[3] ?? ''] ?? 1;
  const number = Number(`${match[1]}${match[2] ?? ''}`);
  // Division keeps 0.1 and 100m exact where multiplication by 0.001 would not.
  const value = suffix < 1 ? (number * scale) / Math.round(1 / suffix) : number * suffix * scale;
  const nearest = Math.round(value);
  if (Math.abs(value - nearest) <= Math.abs(value) * 1e-12) return nearest;
  return value < 0 ? Math.floor(value) : Math.ceil(value);
}

/** Whole units, rounded away from zero; 0 when absent. */
export function quantityValue(quantity: string | number | undefined): number {
  return quantity === undefined ? 0 : scaled(String(quantity), 1);
}

/** Thousandths, rounded away from zero; 0 when absent. */
export function quantityMilliValue(quantity: string | number | undefined): number {
  return quantity === undefined ? 0 : scaled(String(quantity), 1000);
}
