/** Constant lists as sets. Upstream: maybeOptimizeSetMembership in cel-go interpreter/decorators.go. */
import { Uint } from './values.ts';

const MIN_INT = -(2n ** 63n);
const END_OF_INTS = 2n ** 63n;
const END_OF_UINTS = 2n ** 64n;

/**
 * The texts, booleans and numbers of a constant list. A number is also stored in the other numeric types: always as a double, as
 * an integer when it is exactly one. Beyond 2^53 an int is therefore found only as itself.
 */
export class ConstantSet {
  /** Texts, booleans and doubles. NaN is left out because it equals nothing. */
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
