/**
 * Flags of upstream that choose between ways of which there is one here, or none: who asks for what is done anyway is
 * never refused, and least of all who spells out upstream's default; who asks for something else is told.
 */
import { parseDurationMs } from '../../api/duration.ts';
import { FlagError, type Flag, type FlagValues, type OptionSet } from './flags.ts';

/** What is done, whatever is asked for. */
export interface FixedFlag {
  readonly type: Flag['type'];
  /** Values that ask for it; several come to the same. */
  readonly is: readonly string[];
  /** Values taken although they promise more than is done, and what is said then. */
  readonly noted?: Readonly<Record<string, string>>;
  /** What is said of all the others, which are taken then. */
  readonly note?: string;
  /** Why the others are refused. */
  readonly otherwise?: string;
  /** For the help. */
  readonly description: string;
}

/** Fixed flags by name. */
export type FixedFlags = Readonly<Record<string, FixedFlag>>;

/** Their set; reading gives what is to be said of the given values. Throws `FlagError` for those that are refused. */
export function fixedOptions(table: FixedFlags): OptionSet<readonly string[]> {
  return {
    flags: Object.entries(table).map(([name, { type, description }]) => ({ name, type, description })),
    read: (values) => Object.entries(table).flatMap(([name, row]) => checkFlag(values, name, row)),
  };
}

function checkFlag(values: FlagValues, name: string, row: FixedFlag): string[] {
  const given = row.type === 'bool' ? values.bool(name)?.toString() : values.text(name);
  const note = given === undefined ? undefined : noteOf(name, given, row);
  return note === undefined ? [] : [note];
}

/** What is to be said of a given value; undefined: nothing. Throws `FlagError` where it is refused. */
export function noteOf(
  name: string,
  given: string,
  { is, noted = {}, note: always, otherwise }: FixedFlag,
): string | undefined {
  if (is.some((value) => isSame(value, given))) return undefined;
  const note = Object.entries(noted).find(([value]) => isSame(value, given))?.[1] ?? always;
  if (note !== undefined) return `--${name}=${given}: ${note}`;
  throw new FlagError(`--${name}=${given}: ${otherwise ?? `it is always ${is.join(' or ')} here`}`);
}

/** `60s` is `1m0s`, `100.0` is `100`. */
function isSame(value: string, given: string): boolean {
  if (value === given) return true;
  if (value === '' || given === '') return false;
  const [a, b] = [parseDurationMs(value), parseDurationMs(given)];
  return Number(value) === Number(given) || (a !== undefined && a === b);
}
