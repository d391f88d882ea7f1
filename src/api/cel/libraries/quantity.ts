/** Quantities. Upstream: apiserver/pkg/cel/library/quantity.go. */
import { formatQuantity, parseQuantity, tryParseQuantity } from '../../quantity.ts';
import type { ParsedQuantity } from '../../quantity.ts';
import { textWork } from '../meter.ts';
import { structTypeOf } from '../types/type.ts';
import type { Declarations } from '../types/declarations.ts';
import type { CelObject } from '../runtime/values.ts';
import { EQUALS, FunctionError, TO_JSON, TYPE_NAME } from '../runtime/values.ts';
import { integerOf, type ScaledAmount, scaledAmountOf, sumOf } from './scaled-amount.ts';

const NANO = 1_000_000_000n;
const NAME = 'kubernetes.Quantity';

class Quantity implements CelObject {
  readonly [TYPE_NAME] = NAME;
  readonly parsed: ParsedQuantity;
  /** Undefined where Go uses a number of any size. */
  readonly #scaled: ScaledAmount | undefined;

  constructor(parsed: ParsedQuantity, scaled: ScaledAmount | undefined) {
    this.parsed = parsed;
    this.#scaled = scaled;
  }

  [EQUALS](other: Quantity): boolean {
    return this.parsed.nanos === other.parsed.nanos;
  }

  [TO_JSON](): string {
    return formatQuantity(this.parsed);
  }

  plus(other: Quantity): Quantity {
    const { nanos, format } = this.parsed;
    const scaled = this.#scaled && other.#scaled && sumOf(this.#scaled, other.#scaled);
    const sum = { nanos: nanos + other.parsed.nanos, format: nanos === 0n ? other.parsed.format : format };
    return new Quantity(sum, scaled);
  }

  get negated(): Quantity {
    const { parsed } = this;
    const scaled = this.#scaled && { ...this.#scaled, value: -this.#scaled.value };
    return new Quantity({ ...parsed, nanos: -parsed.nanos }, scaled);
  }

  /** Undefined for a number that is no integer to Go. */
  get integer(): bigint | undefined {
    return this.#scaled && integerOf(this.#scaled);
  }
}

function quantityOfInteger(value: bigint): Quantity {
  return new Quantity({ nanos: value * NANO, format: 'DecimalSI' }, { value, scale: 0 });
}

/** The type of quantities. */
export const QUANTITY = structTypeOf(NAME, undefined);

export function defineQuantity(declarations: Declarations): void {
  declarations.addType(QUANTITY);
  const compare = (a: Quantity, b: Quantity): bigint => {
    const difference = a.parsed.nanos - b.parsed.nanos;
    return difference < 0n ? -1n : difference > 0n ? 1n : 0n;
  };
  declarations.define({
    [`quantity(string): ${NAME}`]: quantityOf,
    'isQuantity(string): bool': (text: string) => {
      textWork(text, QUANTITY_WORK);
      return tryParseQuantity(text) !== undefined;
    },
    [`sign(${NAME}): int`]: (a: Quantity) => (a.parsed.nanos < 0n ? -1n : a.parsed.nanos > 0n ? 1n : 0n),
    [`${NAME}.isInteger(): bool`]: (a: Quantity) => a.integer !== undefined,
    [`${NAME}.asInteger(): int`]: (a: Quantity) => {
      const { integer } = a;
      if (integer === undefined) throw new FunctionError('cannot convert value to integer');
      return integer;
    },
    [`${NAME}.asApproximateFloat(): double`]: (a: Quantity) => Number(a.parsed.nanos) / 1e9,
    [`${NAME}.isGreaterThan(${NAME}): bool`]: (a: Quantity, b: Quantity) => compare(a, b) > 0n,
    [`${NAME}.isLessThan(${NAME}): bool`]: (a: Quantity, b: Quantity) => compare(a, b) < 0n,
    [`${NAME}.compareTo(${NAME}): int`]: compare,
    [`${NAME}.add(${NAME}): ${NAME}`]: (a: Quantity, b: Quantity) => a.plus(b),
    [`${NAME}.add(int): ${NAME}`]: (a: Quantity, b: bigint) => a.plus(quantityOfInteger(b)),
    [`${NAME}.sub(${NAME}): ${NAME}`]: (a: Quantity, b: Quantity) => a.plus(b.negated),
    [`${NAME}.sub(int): ${NAME}`]: (a: Quantity, b: bigint) => a.plus(quantityOfInteger(-b)),
  });
}

/** Units of work for a character of a quantity. */
const QUANTITY_WORK = 2;

/** Parses a quantity. Throws `FunctionError`. */
export function quantityOf(text: string): Quantity {
  textWork(text, QUANTITY_WORK);
  try {
    return new Quantity(parseQuantity(text), scaledAmountOf(text));
  } catch (error) {
    throw new FunctionError((error as Error).message);
  }
}
