const MAX_SHOWN = 200;

/**
 * A value of JSON from outside, for a text: a string as it is, anything else as JSON, its first 200 characters. `String(value)`
 * throws for an object such as `{"toString":0}`.
 */
export function shown(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '').slice(0, MAX_SHOWN);
}
