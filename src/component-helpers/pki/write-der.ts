/**
 * Writes DER, which `der.ts` reads. Upstream: encoding/asn1. By hand rather than by @peculiar/x509, for the reason in
 * `der.ts`.
 */
import { formatTime } from '../../api/time.ts';
import { TAG } from '../../base/der.ts';

/** An element of this tag around these parts, one after another. */
export function derElement(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((total, part) => total + part.length, 0);
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(length)]), ...parts]);
}

/** Lengths of up to 127 are one byte; for others the first byte is the number of further bytes. */
function lengthBytes(length: number): number[] {
  return length < 0x80 ? [length] : [0x80 | Math.ceil((32 - Math.clz32(length)) / 8), ...digits(length, 256)];
}

function digits(number: number, base: number): number[] {
  return number < base ? [number] : [...digits(Math.floor(number / base), base), number % base];
}

/** A non-negative integer from its big-endian bytes, in the shortest form with the first bit clear. */
export function derInteger(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const shortest = first < 0 ? Buffer.from([0]) : bytes.subarray(first);
  return derElement(TAG.integer, ...(shortest[0]! >= 0x80 ? [Buffer.from([0])] : []), shortest);
}

/** `2.5.4.3`. */
export function derOid(text: string): Uint8Array {
  const [top = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [top * 40 + second, ...rest].flatMap((number) =>
    digits(number, 128).map((digit, index, all) => (index < all.length - 1 ? digit | 0x80 : digit)),
  );
  return derElement(TAG.oid, Buffer.from(bytes));
}

/** A bit string; the lowest `unused` bits of its last byte are ignored. */
export function derBits(bytes: Uint8Array, unused = 0): Uint8Array {
  return derElement(TAG.bitString, Buffer.from([unused]), bytes);
}

/** The years 1950 to 2049 have two digits in certificates. */
export function derTime(ms: number): Uint8Array {
  const text = formatTime(ms).replaceAll(/[-:T]/g, '');
  const isShort = text >= '1950' && text < '2050';
  return derElement(isShort ? TAG.utcTime : TAG.generalizedTime, Buffer.from(isShort ? text.slice(2) : text));
}
