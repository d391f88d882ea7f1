/** Reads decoded configuration field by field, gathers what is wrong with field paths in upstream's words, and finds unknown fields. */
import { aggregateText } from '../../base/errors.ts';
import { parseGoDuration } from './go-duration.ts';

/** All errors of a configuration. */
export class SchedulerConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[], options?: ErrorOptions) {
    super(aggregateText(problems), options);
    this.name = 'SchedulerConfigError';
    this.problems = problems;
  }
}

/** Inclusive limits of a number. */
export interface NumberRange {
  readonly min?: number;
  readonly max?: number;
  readonly integer?: boolean;
}

/** One object of the configuration. Call `finish` when all known fields were read. */
export class Fields {
  readonly path: string;
  readonly problems: string[];
  readonly #value: Readonly<Record<string, unknown>>;
  readonly #read = new Set<string>();

  constructor(value: unknown, path: string, problems: string[]) {
    this.path = path;
    this.problems = problems;
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    this.#value = isObject ? (value as Record<string, unknown>) : {};
    if (!isObject && value !== undefined && value !== null)
      this.problems.push(`${path}: Invalid value: must be an object`);
  }

  /** The path of a field. */
  at(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  invalid(name: string, value: unknown, why: string): void {
    this.problems.push(`${this.at(name)}: Invalid value: ${JSON.stringify(value)}: ${why}`);
  }

  required(name: string): void {
    this.problems.push(`${this.at(name)}: Required value`);
  }

  raw(name: string): unknown {
    this.#read.add(name);
    return Object.hasOwn(this.#value, name) ? (this.#value[name] ?? undefined) : undefined;
  }

  has(name: string): boolean {
    return this.raw(name) !== undefined;
  }

  text<T extends string | undefined>(name: string, otherwise: T): string | T {
    const value = this.raw(name);
    if (value === undefined) return otherwise;
    if (typeof value === 'string') return value;
    this.invalid(name, value, 'must be a string');
    return otherwise;
  }

  /** A string that must be one of `words`. */
  word<T extends string>(name: string, words: readonly T[], otherwise: T): T {
    const value = this.text(name, otherwise as string);
    const knownWord = words.find((word) => word === value);
    if (knownWord !== undefined) return knownWord;
    const supported = words.map((word) => `"${word}"`).join(', ');
    this.problems.push(`${this.at(name)}: Unsupported value: "${value}": supported values: ${supported}`);
    return otherwise;
  }

  bool(name: string, otherwise: boolean): boolean {
    const value = this.raw(name);
    if (value === undefined) return otherwise;
    if (typeof value === 'boolean') return value;
    this.invalid(name, value, 'must be true or false');
    return otherwise;
  }

  number(
    name: string,
    otherwise: number,
    { min = -Infinity, max = Infinity, integer = true }: NumberRange = {},
  ): number {
    const raw = this.raw(name);
    if (raw === undefined) return otherwise;
    const value = typeof raw === 'bigint' ? Number(raw) : raw;
    if (typeof value === 'number' && (!integer || Number.isInteger(value)) && value >= min && value <= max)
      return value;
    const bounds = min === -Infinity && max === Infinity ? 'must be a number' : `not in valid range [${min}-${max}]`;
    this.invalid(name, value, bounds);
    return otherwise;
  }

  /** A duration in Go's notation, in milliseconds. A number counts nanoseconds, as in upstream's decoder. */
  durationMs(name: string, otherwiseMs: number): number {
    const value = this.raw(name);
    if (value === undefined) return otherwiseMs;
    const ms = typeof value === 'number' ? value / 1e6 : typeof value === 'string' ? parseGoDuration(value) : undefined;
    if (ms !== undefined) return ms;
    this.invalid(name, value, 'must be a duration such as 15s or 1m30s');
    return otherwiseMs;
  }

  object(name: string): Fields {
    return new Fields(this.raw(name), this.at(name), this.problems);
  }

  objects(name: string): Fields[] {
    return this.#array(name).map((value, i) => new Fields(value, `${this.at(name)}[${i}]`, this.problems));
  }

  texts(name: string): string[] {
    return this.#array(name).flatMap((value, i) => {
      if (typeof value === 'string') return [value];
      this.invalid(`${name}[${i}]`, value, 'must be a string');
      return [];
    });
  }

  /** Reports fields that were not read. */
  finish(): void {
    for (const name of Object.keys(this.#value))
      if (!this.#read.has(name)) this.problems.push(`unknown field "${this.at(name)}"`);
  }

  #array(name: string): readonly unknown[] {
    const value = this.raw(name);
    if (value === undefined) return [];
    if (Array.isArray(value)) return value;
    this.invalid(name, value, 'must be a list');
    return [];
  }
}
