/** Quantities. Upstream: apiserver/pkg/cel/library/quantity.go. */
import { formatQuantity, parseQuantity, tryParseQuantity } from '../../quantity.ts';
import type { ParsedQuantity } from '../../quantity.ts';
import { textWork } from '../meter.ts';
import { structTypeOf } from '../types/type.ts';
import type { Declarations } from '../types/declarations.ts';
import type { CelObject } from '../runtime/values.ts';
import { EQUALS, FunctionError, TO_JSON, TYPE_NAME } from '../runtime/values.ts';

const NANO = 1_000_000_000n;
const NAME = 'kubernetes.Quantity';

class Quantity implements CelObject {
  readonly [TYPE_NAME] = NAME;
  readonly parsed: ParsedQuantity;

  constructor(parsed: ParsedQuantity) {
    this.parsed = parsed;
  }

  [EQUALS](other: Quantity): boolean {
    return this.parsed.nanos === other.parsed.nanos;
  }

  [TO_JSON](): string {
    return formatQuantity(this.parsed);
  }

  plus(nanos: bigint): Quantity {
    return new Quantity({ nanos: this.parsed.nanos + nanos, format: this.parsed.format });
  }

  get isInteger(): boolean {
    const { nanos } = this.parsed;
    return nanos % NANO === 0n && BigInt.asIntN(64, nanos / NANO) === nanos / NANO;
  }
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
    [`${NAME}.isInteger(): bool`]: (a: Quantity) => a.isInteger,
    [`${NAME}.asInteger(): int`]: (a: Quantity) => {
      if (!a.isInteger) throw new FunctionError('cannot convert value to integer');
      return a.parsed.nanos / NANO;
    },
    [`${NAME}.asApproximateFloat(): double`]: (a: Quantity) => Number(a.parsed.nanos) / 1e9,
    [`${NAME}.isGreaterThan(${NAME}): bool`]: (a: Quantity, b: Quantity) => compare(a, b) > 0n,
    [`${NAME}.isLessThan(${NAME}): bool`]: (a: Quantity, b: Quantity) => compare(a, b) < 0n,
    [`${NAME}.compareTo(${NAME}): int`]: compare,
    [`${NAME}.add(${NAME}): ${NAME}`]: (a: Quantity, b: Quantity) => a.plus(b.parsed.nanos),
    [`${NAME}.add(int): ${NAME}`]: (a: Quantity, b: bigint) => a.plus(b * NANO),
    [`${NAME}.sub(${NAME}): ${NAME}`]: (a: Quantity, b: Quantity) => a.plus(-b.parsed.nanos),
    [`${NAME}.sub(int): ${NAME}`]: (a: Quantity, b: bigint) => a.plus(-b * NANO),
  });
}

/** Units of work for a character of a quantity. */
const QUANTITY_WORK = 2;

/** Parses a quantity. Throws `FunctionError`. */
export function quantityOf(text: string): Quantity {
  textWork(text, QUANTITY_WORK);
  try {
    return new Quantity(parseQuantity(text));
  } catch (error) {
    throw new FunctionError((error as Error).message);
  }
}
