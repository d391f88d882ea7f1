/**
 * Command-line flags with upstream's grammar (Go's pflag): `--name=value`, `--name value`, booleans without a value,
 * underscores for dashes. Each set of options declares its flags and reads its settings from them; a new set is a file
 * beside this one and a line in `list.ts`.
 */
import { parseGoBoolean } from '../../base/go-boolean.ts';
import { didYouMean } from '../../base/nearest-name.ts';
export interface Flag {
  readonly name: string;
  /** `list`: separated by commas, and repeatable. */
  readonly type: 'bool' | 'string' | 'list';
  readonly description: string;
  /** Present for a deprecated flag that still works: the warning when it is used. */
  readonly deprecated?: string;
}

export function named(name: string, description: string, type: Flag['type'] = 'string'): Flag {
  return { name, type, description };
}

export interface FlagValues {
  /** The last value; undefined when the flag was not given or given as empty, which upstream treats as unset. */
  text(name: string): string | undefined;
  /** Every given value; empty ones are left out. */
  texts(name: string): readonly string[];
  /** Empty when it was given as empty; the reader decides whether that means none or unset. */
  list(name: string): readonly string[] | undefined;
  bool(name: string): boolean | undefined;
}

/** A set of options. `read` throws `FlagError` for invalid values. */
export interface OptionSet<T> {
  readonly flags: readonly Flag[];
  read(values: FlagValues): T;
}

/** Wrong usage, in one line. */
export class FlagError extends Error {
  override readonly name = 'FlagError';
}

/** The flags of a command line, and warnings about deprecated ones. */
export interface ParsedFlags {
  readonly values: FlagValues;
  readonly warnings: readonly string[];
}

/** Parses a command line. `retired`: replacements for removed flags. Throws `FlagError`. */
export function parseFlags(
  args: readonly string[],
  flags: readonly Flag[],
  retired: Readonly<Record<string, string>>,
): ParsedFlags {
  const flagsByName = new Map(flags.map((flag) => [flag.name, flag]));
  const texts = new Map<string, string[]>();
  const warnings: string[] = [];
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    const dashes = /^(?:--|-(?=v\b))(?!$)/.exec(arg)?.[0].length;
    if (dashes === undefined) throw new FlagError(`unexpected argument ${JSON.stringify(arg)}: only flags are taken`);
    const equals = arg.indexOf('=');
    const name = arg.slice(dashes, equals < 0 ? undefined : equals).replaceAll('_', '-');
    const flag = flagsByName.get(name);
    if (flag === undefined) throw unknownFlag(name, flags, retired);
    let value = equals < 0 ? undefined : arg.slice(equals + 1);
    if (value === undefined) {
      if (flag.type === 'bool') value = 'true';
      else if (at + 1 < args.length) value = args[++at]!;
      else throw new FlagError(`flag needs an argument: --${name}`);
    }
    if (flag.deprecated !== undefined) warnings.push(`Flag --${name} has been deprecated, ${flag.deprecated}`);
    texts.set(name, [...(texts.get(name) ?? []), value]);
  }
  return { values: valuesOf(texts), warnings };
}

function valuesOf(texts: ReadonlyMap<string, readonly string[]>): FlagValues {
  const last = (name: string): string | undefined => texts.get(name)?.at(-1);
  return {
    text: (name) => last(name) || undefined,
    texts: (name) => (texts.get(name) ?? []).filter((value) => value !== ''),
    list: (name) =>
      texts
        .get(name)
        ?.flatMap((value) => value.split(','))
        .filter((one) => one !== ''),
    bool(name) {
      const value = last(name);
      if (value === undefined) return undefined;
      const parsed = parseGoBoolean(value);
      if (parsed !== undefined) return parsed;
      throw new FlagError(
        `invalid argument ${JSON.stringify(value)} for "--${name}" flag: it is neither true nor false`,
      );
    },
  };
}

function unknownFlag(name: string, flags: readonly Flag[], retired: Readonly<Record<string, string>>): FlagError {
  const successor = Object.hasOwn(retired, name) ? retired[name] : undefined;
  if (successor !== undefined) return new FlagError(`--${name} is a flag of an early release: ${successor}`);
  const hint = didYouMean(
    name,
    flags.map((flag) => flag.name),
  );
  return new FlagError(`unknown flag: --${name}${hint.replace('mean ', 'mean --')}`);
}

/** An integer flag within bounds. Throws `FlagError`. */
export function wholeNumber(
  values: FlagValues,
  name: string,
  bounds: { from: number; to: number },
): number | undefined {
  const text = values.text(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= bounds.from && value <= bounds.to) return value;
  throw new FlagError(
    `invalid argument ${JSON.stringify(text)} for "--${name}" flag: it must be between ${bounds.from} and ${bounds.to}, inclusive`,
  );
}
