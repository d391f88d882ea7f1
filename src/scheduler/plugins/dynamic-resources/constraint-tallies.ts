/**
 * The constraints of one claim against the devices allocated so far: the values of each constraint's attribute are
 * counted, so that a device is compared with the values and not with each device. Upstream: structured's constraints.
 */
import type { Device, DeviceConstraint } from '../../../api/gen/resource-v1.ts';
import { stableStringify } from '../../../base/stable-json.ts';
import type { PoolDevice } from '../../devices/device-pools.ts';
import { attributeOf } from '../../devices/device-selectors.ts';

export class ConstraintTallies {
  readonly #constraints: readonly DeviceConstraint[];
  readonly #counts: readonly Map<string, number>[];
  /** By attribute. */
  readonly #values = new Map<string, Map<Device, string | undefined>>();
  /** False for an unknown kind of constraint, which nothing satisfies. */
  readonly #isKnown: boolean;
  /** The number of devices allocated for the claim. */
  devices = 0;

  constructor(constraints: readonly DeviceConstraint[]) {
    this.#constraints = constraints;
    this.#counts = constraints.map(() => new Map<string, number>());
    this.#isKnown = constraints.every((constraint) => attributeName(constraint) !== undefined);
  }

  /** Whether the device may be allocated for a request with these constraints. */
  agree(naming: readonly number[], poolDevice: PoolDevice): boolean {
    if (!this.#isKnown) return false;
    return naming.every((at) => {
      const value = this.#valueOf(at, poolDevice);
      if (value === undefined) return false;
      const counts = this.#counts[at]!;
      return this.#constraints[at]!.matchAttribute === undefined
        ? !counts.has(value)
        : counts.size === 0 || counts.has(value);
    });
  }

  add(naming: readonly number[], poolDevice: PoolDevice): void {
    this.devices++;
    this.#count(naming, poolDevice, 1);
  }

  remove(naming: readonly number[], poolDevice: PoolDevice): void {
    this.devices--;
    this.#count(naming, poolDevice, -1);
  }

  #count(naming: readonly number[], poolDevice: PoolDevice, by: 1 | -1): void {
    for (const at of naming) {
      const value = this.#valueOf(at, poolDevice)!;
      const count = (this.#counts[at]!.get(value) ?? 0) + by;
      if (count === 0) this.#counts[at]!.delete(value);
      else this.#counts[at]!.set(value, count);
    }
  }

  #valueOf(at: number, { driver, device }: PoolDevice): string | undefined {
    const name = attributeName(this.#constraints[at]!)!;
    let values = this.#values.get(name);
    if (values === undefined) this.#values.set(name, (values = new Map()));
    if (!values.has(device)) {
      const attribute = attributeOf(driver, device, name);
      values.set(device, attribute === undefined ? undefined : stableStringify(attribute));
    }
    return values.get(device);
  }
}

function attributeName({ matchAttribute, distinctAttribute }: DeviceConstraint): string | undefined {
  return matchAttribute ?? distinctAttribute;
}
