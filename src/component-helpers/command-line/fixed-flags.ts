/**
 * Upstream's flags that choose between alternatives of which only one, or none, exists here. Values that ask for what
 * happens anyway, including upstream's default, are always accepted; for other values there is a warning or an error.
 */
import { parseDurationMs } from '../../api/duration.ts';
import { FlagError, type Flag, type FlagValues, type OptionSet } from './flags.ts';

/** A flag whose effect is fixed here. */
export interface FixedFlag {
  readonly type: Flag['type'];
  /** The values with this effect. */
  readonly is: readonly string[];
  /** Values that are accepted although they ask for more than happens here, with a warning each. */
  readonly noted?: Readonly<Record<string, string>>;
  /** The warning for all other values, which are accepted if it is present. */
  readonly note?: string;
  /** The reason why other values are rejected. */
  readonly otherwise?: string;
  /** The text for `--help`. */
  readonly description: string;
}

/** Fixed flags by name. */
export type FixedFlags = Readonly<Record<string, FixedFlag>>;

/** The flags as a set; `read` returns the warnings for the values. Throws `FlagError` for rejected values. */
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

/** The warning for a value; undefined: none. Throws `FlagError` when the value is rejected. */
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

/** Whether two texts are the same value: `60s` and `1m0s`, `100.0` and `100`. */
function isSame(value: string, text: string): boolean {
  if (value === text) return true;
  if (value === '' || text === '') return false;
  const [a, b] = [parseDurationMs(value), parseDurationMs(text)];
  return Number(value) === Number(text) || (a !== undefined && a === b);
}
