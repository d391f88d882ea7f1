/** Arithmetic on lists of quantities by resource name. Pure. Upstream: apiserver/pkg/quota/v1/resources.go. */
import { isRestartableInitContainer } from '../../api/pod-containers.ts';
import type { Container, PodSpec } from '../../api/gen/core-v1.ts';
import { addQuantities, compareQuantities, isZeroQuantity, subtractQuantities } from '../../api/quantity.ts';

/** Quantities by resource name. */
export type Quantities = Readonly<Record<string, string>>;

/** The sum, by name. */
export function addLists(a: Quantities, b: Quantities): Record<string, string> {
  const sum: Record<string, string> = { ...a };
  addTo(sum, b);
  return sum;
}

/** Adds a list to a sum: sums of many lists are not copied for each. */
export function addTo(sum: Record<string, string>, list: Quantities): void {
  for (const [name, quantity] of Object.entries(list))
    sum[name] = Object.hasOwn(sum, name) ? addQuantities(sum[name] ?? '0', quantity) : quantity;
}

/** The difference, by name of `a` and `b`. */
export function subtractLists(a: Quantities, b: Quantities): Record<string, string> {
  const difference: Record<string, string> = { ...a };
  for (const [name, quantity] of Object.entries(b))
    difference[name] = subtractQuantities(difference[name] ?? '0', quantity);
  return difference;
}

/** The larger of each, by name. */
export function maxLists(a: Quantities, b: Quantities): Record<string, string> {
  const most: Record<string, string> = { ...a };
  for (const [name, quantity] of Object.entries(b)) raiseTo(most, name, quantity);
  return most;
}

function raiseTo(most: Record<string, string>, name: string, quantity: string): void {
  if (!Object.hasOwn(most, name) || compareQuantities(most[name] ?? '0', quantity) < 0) most[name] = quantity;
}

/** Only these names. */
export function maskList(list: Quantities, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.filter((name) => Object.hasOwn(list, name)).map((name) => [name, list[name] ?? '0']));
}

/** `a=1,b=2`, by name. */
export function formatList(list: Quantities): string {
  return Object.keys(list)
    .sort()
    .map((name) => `${name}=${list[name]}`)
    .join(',');
}

/**
 * A pod's total requests or limits by resource; `of` reads those of one container, by default from its spec.
 * Upstream: component-helpers/resource PodRequests, PodLimits.
 */
export function podTotals(
  spec: PodSpec,
  kind: 'requests' | 'limits',
  amountsOf: (container: Container) => Quantities = (container) => container.resources?.[kind] ?? {},
): Record<string, string> {
  const sum: Record<string, string> = {};
  for (const container of spec.containers) addTo(sum, amountsOf(container));
  const sidecars: Record<string, string> = {};
  // At least what the sidecars so far have, so that a further container concerns only its own names.
  const largestInit: Record<string, string> = {};
  for (const container of spec.initContainers ?? []) {
    const amounts = amountsOf(container);
    const isSidecar = isRestartableInitContainer(container);
    if (isSidecar) for (const list of [sum, sidecars]) addTo(list, amounts);
    for (const [name, quantity] of Object.entries(amounts)) {
      const before = Object.hasOwn(sidecars, name) ? (sidecars[name] ?? '0') : undefined;
      raiseTo(
        largestInit,
        name,
        isSidecar || before === undefined ? (before ?? quantity) : addQuantities(quantity, before),
      );
    }
  }
  const total = { ...maxLists(sum, largestInit), ...spec.resources?.[kind] };
  for (const [name, quantity] of Object.entries(spec.overhead ?? {})) {
    // Overhead is added to existing limits only.
    if (kind === 'requests' || !isZeroQuantity(total[name])) total[name] = addQuantities(total[name] ?? '0', quantity);
  }
  return total;
}
