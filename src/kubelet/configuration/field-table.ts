/**
 * The description of one field of KubeletConfiguration: its type, default, flag, and how it is treated. The tables
 * beside this file are literal lists of such rows. Decoding, defaults, flags, refusals and
 * docs/kubelet-configuration.md all use these rows, so no field can be ignored silently.
 */
import { parseDurationMs } from '../../api/duration.ts';

/** The type of a field in the file. */
export type FieldType =
  | 'bool'
  | 'int'
  | 'float'
  | 'string'
  | 'duration'
  /** A duration, or a number of nanoseconds. */
  | 'timeOrDuration'
  | 'strings'
  | 'quantities'
  | 'flags'
  | 'headers'
  | { readonly of: FieldTable }
  | { readonly list: FieldTable };

/** How a value is treated. `refused`: any value other than the default, or than those in `accepts`, is an error. */
export type FieldState = 'honoured' | 'in part' | 'refused' | 'no effect';

export interface FieldRow {
  readonly type: FieldType;
  /** Upstream's default, or Keelson's if the note has it. Absent: the type's zero value. */
  readonly default?: unknown;
  /** The flag that sets it, without dashes. */
  readonly flag?: string;
  readonly state: FieldState;
  /** For the docs, and for the text of a refusal. */
  readonly note: string;
  /** Accepted values besides the default; other values are then refused in any state. */
  readonly accepts?: readonly unknown[];
  /** An empty string is a value. In other fields empty strings and zero durations mean unset, as upstream. */
  readonly emptyIsValue?: true;
}

export type FieldTable = { readonly [name: string]: FieldRow };

type ValueOf<T> = T extends 'bool'
  ? boolean
  : T extends 'int' | 'float'
    ? number
    : T extends 'string' | 'duration' | 'timeOrDuration'
      ? string
      : T extends 'strings'
        ? readonly string[]
        : T extends 'quantities'
          ? Readonly<Record<string, string>>
          : T extends 'flags'
            ? Readonly<Record<string, boolean>>
            : T extends 'headers'
              ? Readonly<Record<string, readonly string[]>>
              : T extends { readonly of: infer F extends FieldTable }
                ? ValuesOf<F>
                : T extends { readonly list: infer F extends FieldTable }
                  ? readonly ValuesOf<F>[]
                  : never;

/** A decoded object with all defaults. */
export type ValuesOf<T extends FieldTable> = { readonly [K in keyof T]: ValueOf<T[K]['type']> };

function zeroOf(type: FieldType): unknown {
  if (typeof type === 'object') return 'of' in type ? withDefaults(type.of, {}) : [];
  const zeros: Readonly<Record<Exclude<FieldType, object>, unknown>> = {
    bool: false,
    int: 0,
    float: 0,
    string: '',
    duration: '0s',
    timeOrDuration: '0s',
    strings: [],
    quantities: {},
    flags: {},
    headers: {},
  };
  return zeros[type];
}

export function defaultOf(row: FieldRow): unknown {
  return row.default === undefined ? zeroOf(row.type) : row.default;
}

function isUnset({ type, emptyIsValue }: FieldRow, value: unknown): boolean {
  if (type === 'timeOrDuration') return value === 0 || parseDurationMs(String(value)) === 0;
  if (type === 'duration') return parseDurationMs(value as string) === 0;
  return type === 'string' && value === '' && emptyIsValue !== true;
}

/** The values with defaults for missing ones, including nested objects. An empty map or list is kept. */
export function withDefaults<T extends FieldTable>(table: T, provided: Readonly<Record<string, unknown>>): ValuesOf<T> {
  const values = Object.entries(table).map(([name, row]) => {
    const value = provided[name];
    if (value === undefined || value === null || isUnset(row, value)) return [name, defaultOf(row)];
    if (typeof row.type === 'object') {
      const { type } = row;
      const complete = (part: unknown): unknown =>
        withDefaults('of' in type ? type.of : type.list, part as Record<string, unknown>);
      return [name, 'of' in type ? complete(value) : (value as unknown[]).map(complete)];
    }
    return [name, value];
  });
  return Object.fromEntries(values) as ValuesOf<T>;
}
