/** Numbers that may be percentages, and ports that may be names. Upstream: apimachinery/pkg/util/intstr. */
import type { IntOrString } from './gen/meta-v1.ts';

/** The percentage in `25%`, or undefined for anything else. */
export function percentOf(value: IntOrString): number | undefined {
  if (typeof value !== 'string' || !/^[+-]?\d+%$/.test(value)) return undefined;
  return Number.parseInt(value, 10);
}

/**
 * The number itself, or the percentage of `total` rounded as asked. Throws with upstream's text when it is neither.
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
  // Integer arithmetic first: 0.1 * 3 must not become 0.30000000000000004 before it is rounded.
  const scaled = (percent * total) / 100;
  return roundUp ? Math.ceil(scaled) : Math.floor(scaled);
}
