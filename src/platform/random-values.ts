/** Derives values for all Random adapters from their bytes and numbers. */

const NAME_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';
const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** A version 4 UUID of 16 random bytes, which it changes. */
export function uuidFrom(bytes: Uint8Array): string {
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  let text = '';
  for (let index = 0; index < 16; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) text += '-';
    text += hex[bytes[index]!]!;
  }
  return text;
}

/** `length` characters of upstream's name alphabet. */
export function nameSuffixFrom(int: (below: number) => number, length: number): string {
  let text = '';
  for (let index = 0; index < length; index++) text += NAME_ALPHABET[int(NAME_ALPHABET.length)]!;
  return text;
}
