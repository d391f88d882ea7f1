/** The consumption of shared devices during a search, over that of the allocations there are. */
import { type Amounts, changedShares } from '../../devices/consumed-capacity.ts';
import type { UsedDevices } from '../../devices/device-use.ts';

export class SearchShares {
  readonly #before: UsedDevices['shares'];
  /** By device, the consumption after each share that the search added. */
  readonly #added = new Map<string, Amounts[]>();

  constructor(before: UsedDevices['shares']) {
    this.#before = before;
  }

  has(key: string): boolean {
    return this.#added.has(key) || this.#before.has(key);
  }

  get(key: string): Amounts | undefined {
    return this.#added.get(key)?.at(-1) ?? this.#before.get(key);
  }

  add(key: string, consumed: Amounts): void {
    const amounts = changedShares(this.get(key), consumed, 1);
    const added = this.#added.get(key);
    if (added === undefined) this.#added.set(key, [amounts]);
    else added.push(amounts);
  }

  /** Removes the device's share that was added last. */
  remove(key: string): void {
    const added = this.#added.get(key)!;
    added.pop();
    if (added.length === 0) this.#added.delete(key);
  }
}
