/** Quantities of resource lists carry no more than thousandths. Upstream: SetDefaults_ResourceList. */
import { quantityFromMilliValue, quantityMilliValue, tryParseQuantity } from '../quantity.ts';

/** Rounds finer quantities up to thousandths, in place. */
export function roundResourceList(list: Record<string, string> | undefined): void {
  if (list === undefined) return;
  for (const [name, quantity] of Object.entries(list)) {
    const parsed = tryParseQuantity(quantity);
    if (parsed === undefined || parsed.nanos % 1_000_000n === 0n) continue;
    list[name] = quantityFromMilliValue(quantityMilliValue(quantity), parsed.format);
  }
}
