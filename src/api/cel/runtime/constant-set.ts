/** Constant lists as sets. Upstream: maybeOptimizeSetMembership in cel-go interpreter/decorators.go. */
import { Uint } from './values.ts';

const MIN_INT = -(2n ** 63n);
const END_OF_INTS = 2n ** 63n;
const END_OF_UINTS = 2n ** 64n;

/**
 * Texts, booleans and numbers of a list. A number of one type is also held as one of the others: as a double always, as a
 * whole number where it is exactly that, so beyond 2^53 an int finds itself alone.
 */
export class ConstantSet {
  /** Texts, booleans and doubles. NaN, which equals nothing, is left out. */
  readonly #others = new Set<unknown>();
  readonly #ints = new Set<bigint>();
  readonly #uints = new Set<bigint>();

  constructor(list: readonly unknown[]) {
    for (const item of list) {
      const whole = wholeOf(item);
      if (whole !== undefined) this.#addWhole(whole);
      if (whole !== undefined) this.#others.add(Number(whole));
      else if (!Number.isNaN(item)) this.#others.add(item);
    }
  }

  has(value: unknown): boolean {
    if (typeof value === 'bigint') return this.#ints.has(value);
    if (value instanceof Uint) return this.#uints.has(value.value);
    return !Number.isNaN(value) && this.#others.has(value);
  }

  #addWhole(value: bigint): void {
    if (value >= MIN_INT && value < END_OF_INTS) this.#ints.add(value);
    if (value >= 0n && value < END_OF_UINTS) this.#uints.add(value);
  }
}

function wholeOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  return typeof value === 'number' && Number.isInteger(value) ? BigInt(value) : undefined;
}
