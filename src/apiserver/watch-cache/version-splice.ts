/** Splices the resourceVersion into the JSON text of a stored object, at the end of its metadata. */
import { ownMemory } from './stored-bytes.ts';

export const metadataKey = Buffer.from('"metadata":{');

/** Go's encoder writes it after every object. */
export const NEWLINE = 0x0a;

const [quote, openBrace, closeBrace, backslash] = [0x22, 0x7b, 0x7d, 0x5c];

/** kind and apiVersion, which come first, are shorter than this. */
const HEAD_LIMIT = 512;

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export interface Spliced {
  /** The text with a newline. */
  readonly line: Buffer;
  /** Offset and length of the resourceVersion. */
  readonly cut: number;
  readonly length: number;
}

/** Offset of the first field of the metadata; undefined for values of another layout. */
export function cutOf(value: Buffer): number | undefined {
  const at = value.subarray(0, HEAD_LIMIT).indexOf(metadataKey);
  return at < 0 ? undefined : at + metadataKey.length;
}

/** The text of a resourceVersion at the cut of the stored JSON bytes. */
export function versionText(value: Buffer, cut: number, revision: number): string {
  return `"resourceVersion":"${revision}"${value[cut] === closeBrace ? '' : ','}`;
}

export function splice(value: Buffer, revision: number): Spliced | undefined {
  const cut = cutOf(value);
  if (cut === undefined) return undefined;
  const inserted = versionText(value, cut, revision);
  const { length } = inserted;
  const line = ownMemory(value.length + length + 1);
  value.copy(line, 0, 0, cut);
  line.write(inserted, cut, 'latin1');
  value.copy(line, cut + length, cut);
  line[line.length - 1] = NEWLINE;
  return { line, cut, length };
}

/** Offset of the end of the JSON object that is open at `at`. */
export function objectEnd(bytes: Buffer, at: number): number {
  for (let depth = 1, index = at; ; index++) {
    const byte = bytes[index];
    if (byte === quote) index = stringEnd(bytes, index + 1);
    else if (byte === openBrace) depth++;
    else if (byte === closeBrace && --depth === 0) return index + 1;
    else if (byte === undefined) return index;
  }
}

/** Offset of the quote that ends the string whose first byte is at `at`. */
function stringEnd(bytes: Buffer, at: number): number {
  let index = at;
  for (; index < bytes.length && bytes[index] !== quote; index++) if (bytes[index] === backslash) index++;
  return index;
}
