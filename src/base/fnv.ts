/**
 * FNV hashes of bytes or UTF-8 text, for template hashes and slots; not for secrets. Upstream: Go's hash/fnv. By hand:
 * twenty lines, and `base/` has no dependency.
 */

const encoder = new TextEncoder();

/** FNV-1a, 32 bits. */
export function fnv32a(data: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  const bytes = toBytes(data);
  // By index, here and below: the iterator of an array of a megabyte takes several times as long.
  for (let at = 0; at < bytes.length; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
  return hash >>> 0;
}

/** FNV-1, 32 bits. */
export function fnv32(data: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  const bytes = toBytes(data);
  for (let at = 0; at < bytes.length; at++) hash = Math.imul(hash, 0x01000193) ^ bytes[at]!;
  return hash >>> 0;
}

/** FNV-1a, 64 bits. In halves of 32, whose products doubles hold exactly: big integers take ten times as long. */
export function fnv64a(data: string | Uint8Array): bigint {
  let [high, low] = [0xcbf29ce4, 0x84222325];
  const bytes = toBytes(data);
  for (let at = 0; at < bytes.length; at++) {
    const mixed = (low ^ bytes[at]!) >>> 0;
    const product = mixed * 0x1b3;
    // The prime is 2^40 + 0x1b3.
    high = (high * 0x1b3 + mixed * 0x100 + Math.floor(product / 2 ** 32)) >>> 0;
    low = product >>> 0;
  }
  return (BigInt(high) << 32n) | BigInt(low);
}

const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** A number's decimal digits in upstream's alphabet without vowels, as in pod-template hashes. Upstream: rand.SafeEncodeString. */
export function safeEncode(value: number | bigint): string {
  let text = '';
  for (const digit of value.toString()) text += SAFE_ALPHABET[digit.charCodeAt(0) % SAFE_ALPHABET.length]!;
  return text;
}

function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? encoder.encode(data) : data;
}
