/** Rounds quantities of resource lists up to thousandths. Upstream: SetDefaults_ResourceList. */
import { quantityFromMilliValue, quantityMilliValue, tryParseQuantity } from '../quantity.ts';

/** Digits with a suffix of thousandths or more, which need no rounding. A node's lists may have thousands of entries. */
const IS_WHOLE = /^[+-]?\d+(?:m|[kMGTPE]i?|Ki)?$/;

/** Rounds finer quantities up to thousandths, in place. */
export function roundResourceList(list: Record<string, string> | undefined): void {
  if (list === undefined) return;
  for (const [name, quantity] of Object.entries(list)) {
    if (IS_WHOLE.test(quantity)) continue;
    const parsed = tryParseQuantity(quantity);
    if (parsed === undefined || parsed.nanos % 1_000_000n === 0n) continue;
    list[name] = quantityFromMilliValue(quantityMilliValue(quantity), parsed.format);
  }
}
