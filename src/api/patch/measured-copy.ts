// Copies JSON values with a limit on the total size. Upstream: deepCopy and AccumulatedCopySizeLimit of evanphx/json-patch, which
// the API server sets to the limit of request bodies.

import { setOwn, type JsonObject } from '../codec/own-property.ts';
import { PatchError } from './patch-error.ts';

/** The limit, in bytes of JSON text, of all copies in one patch. */
export const MAX_COPIED_BYTES = 3 * 1024 * 1024;

/** Makes deep copies and adds up the lengths of their JSON texts. */
export class MeasuredCopies {
  #bytes = 0;

  /** Throws {@link PatchError} 422, as upstream, as soon as the sum exceeds the limit. */
  copy(value: unknown): unknown {
    if (typeof value === 'string') this.#add(Buffer.byteLength(value) + 2);
    else if (typeof value !== 'object' || value === null) this.#add(String(value).length);
    else if (Array.isArray(value)) return this.#array(value);
    else return this.#object(value as JsonObject);
    return value;
  }

  #array(array: readonly unknown[]): unknown[] {
    this.#add(Math.max(2, array.length + 1)); // brackets and commas
    const out: unknown[] = [];
    for (const item of array) out.push(this.copy(item));
    return out;
  }

  #object(object: JsonObject): JsonObject {
    const keys = Object.keys(object);
    this.#add(Math.max(2, keys.length + 1));
    const out: JsonObject = {};
    for (const key of keys) {
      this.#add(Buffer.byteLength(key) + 3);
      setOwn(out, key, this.copy(object[key]));
    }
    return out;
  }

  #add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes <= MAX_COPIED_BYTES) return;
    throw new PatchError(
      422,
      `Unable to complete the copy, the accumulated size increase of copy is ${this.#bytes}, exceeding the limit ${MAX_COPIED_BYTES}`,
    );
  }
}
