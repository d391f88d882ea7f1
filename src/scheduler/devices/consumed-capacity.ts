/**
 * Devices that several allocations share, each with a part of their capacity. Pure. Upstream: the consumable capacity of
 * structured/internal (gate DRAConsumableCapacity).
 */
import type { CapacityRequestPolicy, Device } from '../../api/gen/resource-v1.ts';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  subtractQuantities,
} from '../../api/quantity.ts';

/** Amounts by capacity name. */
export type Amounts = Readonly<Record<string, string>>;

/** The consumption of all shares of devices, by the device's key. */
export type Shares = ReadonlyMap<string, Amounts>;

/** The consumption of a share from each of the device's capacities; undefined where the device cannot provide it. */
export function consumptionOf(driver: string, device: Device, requests: Amounts): Amounts | undefined {
  const capacities = device.capacity ?? {};
  const own = new Map(Object.entries(requests).map(([name, amount]) => [ownName(driver, device, name), amount]));
  if ([...own.keys()].some((name) => capacities[name] === undefined)) return undefined;
  const consumed: Record<string, string> = {};
  for (const [name, { value, requestPolicy }] of Object.entries(capacities)) {
    const requested = own.get(name);
    const amount =
      requested === undefined ? (requestPolicy?.default ?? value) : allowedAmount(requested, requestPolicy);
    if (amount === undefined || compareQuantities(amount, value) > 0) return undefined;
    consumed[name] = amount;
  }
  return consumed;
}

/**
 * The name of the capacity as the device spells it: requests and devices may leave out the domain, which is the
 * driver's name.
 */
function ownName(driver: string, { capacity = {} }: Device, name: string): string {
  if (capacity[name] !== undefined) return name;
  return name.startsWith(`${driver}/`) ? name.slice(driver.length + 1) : `${driver}/${name}`;
}

/** The smallest amount that the policy allows and that covers the request; undefined: there is none. */
function allowedAmount(requested: string, policy: CapacityRequestPolicy | undefined): string | undefined {
  const { validValues, validRange } = policy ?? {};
  if (validValues !== undefined && validValues.length > 0)
    return validValues.toSorted(compareQuantities).find((value) => compareQuantities(value, requested) >= 0);
  if (validRange === undefined) return requested;
  const { min, max, step } = validRange;
  const amount =
    compareQuantities(requested, min) <= 0 ? min : step === undefined ? requested : upToStep(requested, min, step);
  return max !== undefined && compareQuantities(amount, max) > 0 ? undefined : amount;
}

function upToStep(requested: string, min: string, step: string): string {
  const [from, by, wanted] = [parseQuantity(min).nanos, parseQuantity(step).nanos, parseQuantity(requested)];
  if (by <= 0n) return requested;
  const steps = (wanted.nanos - from + by - 1n) / by;
  return formatQuantity({ nanos: from + steps * by, format: wanted.format });
}

/** Whether the device has that much capacity beside its shares. */
export function hasCapacityLeft(device: Device, shares: Amounts | undefined, consumed: Amounts): boolean {
  return Object.entries(consumed).every(
    ([name, amount]) =>
      compareQuantities(addQuantities(shares?.[name] ?? '0', amount), device.capacity?.[name]?.value ?? '0') <= 0,
  );
}

/** The shares after one is added or removed. */
export function changedShares(shares: Amounts | undefined, by: Amounts, sign: 1 | -1): Amounts {
  const change = sign === 1 ? addQuantities : subtractQuantities;
  return {
    ...shares,
    ...Object.fromEntries(Object.entries(by).map(([name, amount]) => [name, change(shares?.[name] ?? '0', amount)])),
  };
}
