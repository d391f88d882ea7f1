// Own-property access for objects with keys from outside: `__proto__` is an ordinary key, which must neither be lost nor change a
// prototype.

/** A JSON object with unknown content. */
export type JsonObject = { [key: string]: unknown };

/** Sets `key` as an own property, whatever its name. */
export function setOwn(target: JsonObject, key: string, value: unknown): void {
  if (key === '__proto__') {
    Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
  } else {
    target[key] = value;
  }
}

/** The own property `key`, or undefined; never one inherited from Object. */
export function getOwn<T>(source: { readonly [key: string]: T }, key: string): T | undefined {
  return Object.hasOwn(source, key) ? source[key] : undefined;
}

/** True for objects that are neither null nor lists. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Throws for a key that is not in `knownFields`, so that a misspelt setting is not ignored. `place` is '' at the top. */
export function refuseUnknownFields(value: JsonObject, knownFields: readonly string[], place: string): void {
  const unknown = Object.keys(value).find((key) => !knownFields.includes(key));
  if (unknown !== undefined)
    throw new Error(`strict decoding error: unknown field "${place}${place === '' ? '' : '.'}${unknown}"`);
}
