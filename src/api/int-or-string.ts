/** Numbers or percentages, and ports by number or name. Upstream: apimachinery/pkg/util/intstr. */
import type { IntOrString } from './gen/meta-v1.ts';

/** The percentage of a text such as `25%`; undefined for all other values. */
export function percentOf(value: IntOrString): number | undefined {
  if (typeof value !== 'string' || !/^[+-]?\d+%$/.test(value)) return undefined;
  return Number.parseInt(value, 10);
}

/**
 * The number itself, or the percentage of `total` rounded in the requested direction. Throws with upstream's text for other
 * values.
 */
export function scaledValue(value: IntOrString, total: number, roundUp: boolean): number {
  if (typeof value === 'number') return value;
  const percent = percentOf(value);
  if (percent === undefined) {
    const detail = value.endsWith('%')
      ? `invalid value ${JSON.stringify(value)}`
      : 'invalid type: string is not a percentage';
    throw new Error(`invalid value for IntOrString: ${detail}`);
  }
  // Multiplies before it divides: 0.1 * 3 would become 0.30000000000000004 before rounding.
  const scaled = (percent * total) / 100;
  return roundUp ? Math.ceil(scaled) : Math.floor(scaled);
}
