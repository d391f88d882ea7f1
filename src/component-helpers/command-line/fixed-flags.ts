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
  const text = row.type === 'bool' ? values.bool(name)?.toString() : values.text(name);
  const note = text === undefined ? undefined : noteOf(name, text, row);
  return note === undefined ? [] : [note];
}

/** What is to be said of a given value; undefined: nothing. Throws `FlagError` where it is refused. */
export function noteOf(
  name: string,
  text: string,
  { is, noted = {}, note: always, otherwise }: FixedFlag,
): string | undefined {
  if (is.some((value) => isSame(value, text))) return undefined;
  const note = Object.entries(noted).find(([value]) => isSame(value, text))?.[1] ?? always;
  if (note !== undefined) return `--${name}=${text}: ${note}`;
  throw new FlagError(`--${name}=${text}: ${otherwise ?? `it is always ${is.join(' or ')} here`}`);
}

/** `60s` is `1m0s`, `100.0` is `100`. */
function isSame(value: string, text: string): boolean {
  if (value === text) return true;
  if (value === '' || text === '') return false;
  const [a, b] = [parseDurationMs(value), parseDurationMs(text)];
  return Number(value) === Number(text) || (a !== undefined && a === b);
}
