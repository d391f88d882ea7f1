/** FNV hashes of bytes or UTF-8 text, for template hashes and slots; not for secrets. Upstream: Go's hash/fnv. */

const encoder = new TextEncoder();

/** FNV-1a, 32 bits. */
export function fnv32a(data: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of toBytes(data)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** FNV-1, 32 bits. */
export function fnv32(data: string | Uint8Array): number {
  let hash = 0x811c9dc5;
  for (const byte of toBytes(data)) hash = Math.imul(hash, 0x01000193) ^ byte;
  return hash >>> 0;
}

/** FNV-1a, 64 bits. */
export function fnv64a(data: string | Uint8Array): bigint {
  let hash = 0xcbf29ce484222325n;
  for (const byte of toBytes(data)) hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return hash;
}

const safeAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** A number's decimal digits in upstream's alphabet without vowels, as in pod-template hashes. Upstream: rand.SafeEncodeString. */
export function safeEncode(value: number | bigint): string {
  let text = '';
  for (const digit of value.toString()) text += safeAlphabet[digit.charCodeAt(0) % safeAlphabet.length]!;
  return text;
}

function toBytes(data: string | Uint8Array): Uint8Array {
  return typeof data === 'string' ? encoder.encode(data) : data;
}
