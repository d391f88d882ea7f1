/**
 * Clauses of formats, which are parsed when an expression is checked and when it runs. Upstream: parseFormatString of cel-go
 * ext/formatting.go.
 */
import { FunctionError } from '../runtime/values.ts';

/** `%.3f`: verb and precision. */
interface Clause {
  readonly verb: string | undefined;
  readonly precision: number | undefined;
}

/** Error texts for arguments that do not fit a verb. */
export const CLAUSE_PROBLEMS: Readonly<Record<string, string>> = {
  s: 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  d: 'decimal clause can only be used on integers',
  f: 'fixed-point clause can only be used on doubles',
  e: 'scientific clause can only be used on doubles',
  b: 'only integers and bools can be formatted as binary',
  o: 'octal clause can only be used on integers',
  x: 'only integers, byte buffers, and strings can be formatted as hex',
  X: 'only integers, byte buffers, and strings can be formatted as hex',
};

const CLAUSE = /%(?:%|(\.\d*)?([^]?))/gu;

/** Replaces each clause of a format. Throws {@link FunctionError} for invalid clauses, and for more clauses than arguments. */
export function parseFormat(format: string, fill: (clause: Clause) => string | undefined, count: number): string {
  let next = 0;
  return format.replaceAll(CLAUSE, (clause, digits: string | undefined, verb: string | undefined) => {
    if (clause === '%%') return '%';
    if (next >= count) throw new FunctionError(`index ${next} out of range`);
    next++;
    if (clause === '%') throw new FunctionError('unexpected end of string');
    checkClause(digits, verb ?? '');
    return fill({ verb, precision: digits === undefined ? undefined : Number(digits.slice(1)) }) ?? '';
  });
}

function checkClause(digits: string | undefined, verb: string): void {
  const fail = (problem: string): never => {
    throw new FunctionError(`could not parse formatting clause: ${problem}`);
  };
  if (digits !== undefined && verb === '')
    fail('error while parsing precision: could not find end of precision specifier');
  if (digits === '.')
    fail(
      'error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
    );
  if (!Object.hasOwn(CLAUSE_PROBLEMS, verb)) fail(`unrecognized formatting clause "${verb}"`);
}
