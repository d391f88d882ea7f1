const MAX_SHOWN = 200;

/** Integers beyond 2^53 are read as BigInt, which JSON.stringify refuses. */
const withBigInts = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value);

/**
 * A JSON value from outside as text for messages: a string unchanged, anything else as JSON, cut to 200 characters.
 * `String(value)` throws for an object such as `{"toString":0}`.
 */
export function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value, withBigInts) ?? '').slice(0, MAX_SHOWN);
}
