/**
 * The API server's flags as tables: each option set (admission, authentication, authorization, audit, limits, node
 * ports) lists its flags and checks their values, for every command that has them. Upstream: the Options structs of
 * kube-apiserver and cliflag.
 */
import { parseDurationMs } from '../../api/duration.ts';

export interface Flag {
  /** Without dashes, as upstream: `audit-log-path`. */
  readonly name: string;
  /** The form of its value, for help: `<file>`. */
  readonly value: string;
  readonly description: string;
  /** May be given several times; values are split at commas. */
  readonly list?: boolean;
  /** Upstream's advice for a deprecated flag. */
  readonly deprecated?: string;
}

/** Values by flag name; flags that were not given are absent. Lists have one element per occurrence. */
export type FlagValues = Readonly<Record<string, string | readonly string[] | undefined>>;

/** An invalid value. The message begins with the flag. */
export class OptionsError extends Error {
  override readonly name = 'OptionsError';
}

/** The text of a flag; undefined when it was not given. */
export function textOf(values: FlagValues, name: string): string | undefined {
  const value = values[name];
  return typeof value === 'string' ? value : value?.at(-1);
}

/** All elements of a list flag, in order; undefined when it was not given. */
export function listOf(values: FlagValues, name: string): string[] | undefined {
  const value = values[name];
  if (value === undefined) return undefined;
  return [value]
    .flat()
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

/** An integer of at least `least`. Throws {@link OptionsError}. */
export function numberOf(
  values: FlagValues,
  name: string,
  { otherwise, least = 0 }: { otherwise: number; least?: number },
): number {
  const text = textOf(values, name);
  if (text === undefined) return otherwise;
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < least)
    throw new OptionsError(`--${name}: ${text} is not a number of at least ${least}`);
  return number;
}

/** A non-negative number. Throws {@link OptionsError}. */
export function decimalOf(values: FlagValues, name: string, otherwise: number): number {
  const text = textOf(values, name);
  if (text === undefined) return otherwise;
  if (!/^\d+(\.\d*)?$/.test(text)) throw new OptionsError(`--${name}: ${text} is not a number of at least 0`);
  return Number(text);
}

/** A duration in milliseconds. Throws {@link OptionsError}. */
export function durationMsOf(values: FlagValues, name: string, otherwiseMs: number): number {
  const text = textOf(values, name);
  if (text === undefined) return otherwiseMs;
  const durationMs = parseDurationMs(text);
  if (durationMs === undefined || durationMs < 0)
    throw new OptionsError(`--${name}: ${text} is not a duration such as 30s or 2m`);
  return durationMs;
}

/** A boolean. Throws {@link OptionsError}. */
export function booleanOf(values: FlagValues, name: string, otherwise: boolean): boolean {
  const text = textOf(values, name);
  if (text === undefined) return otherwise;
  if (text !== 'true' && text !== 'false') throw new OptionsError(`--${name}: ${text} is neither true nor false`);
  return text === 'true';
}

/** One of these values. Throws {@link OptionsError}. */
export function choiceOf<T extends string>(values: FlagValues, name: string, choices: readonly [T, ...T[]]): T {
  const text = textOf(values, name);
  if (text === undefined) return choices[0];
  const found = choices.find((one) => one === text);
  if (found === undefined) throw new OptionsError(`--${name}: ${text} is none of ${choices.join(', ')}`);
  return found;
}
