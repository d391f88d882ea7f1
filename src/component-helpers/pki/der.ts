/**
 * DER, as far as certificates need it: elements written and read, no schema. Reading checks lengths and nothing else; it is
 * for certificates of our own authorities, not for what clients send. Counterpart: Go's encoding/asn1.
 */

/** Tags of the universal class, constructed where they always are. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/** An element as it was read. */
export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
  /** Tag, length and content. */
  readonly whole: Uint8Array;
}

/** An element of these contents, one after the other. */
export function element(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, ...lengthBytes(content.length)]), content]);
}

/** SEQUENCE of elements. */
export function sequence(...elements: readonly Uint8Array[]): Uint8Array {
  return element(TAG.sequence, ...elements);
}

/** A number that is not negative, from its big-endian bytes. */
export function unsignedInteger(bytes: Uint8Array): Uint8Array {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = first < 0 ? Uint8Array.of(0) : bytes.subarray(first);
  return element(TAG.integer, (short[0] ?? 0) >= 0x80 ? Uint8Array.of(0) : new Uint8Array(), short);
}

/** An object identifier from its dotted text. */
export function objectIdentifier(dotted: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(TAG.oid, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
}

/** BIT STRING of whole bytes but for the last's unused low bits. */
export function bitString(bytes: Uint8Array, unusedBits = 0): Uint8Array {
  return element(TAG.bitString, Uint8Array.of(unusedBits), bytes);
}

/** A time in whole seconds, as RFC 5280 wants it: two digits of the year before 2050, four from then on. */
export function derTime(wallMs: number, format: (wallMs: number) => string): Uint8Array {
  const digits = `${format(wallMs).replaceAll(/\D/g, '').slice(0, 14)}Z`;
  const short = Number(digits.slice(0, 4)) < 2050;
  return element(short ? TAG.utcTime : TAG.generalizedTime, Buffer.from(short ? digits.slice(2) : digits, 'latin1'));
}

/** RFC 3339 text of such a time. @throws Error when it is none */
export function timeText({ tag, content }: DerElement): string {
  const text = Buffer.from(content).toString('latin1');
  const digits = tag === TAG.utcTime ? `${Number(text.slice(0, 2)) < 50 ? '20' : '19'}${text}` : text;
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(digits);
  if (match === null) throw new Error('the certificate has a time in no known form');
  const [, year, month, day, hour, minute, second] = match;
  return `${year}-${month}-${day}T${hour}:${minute}:${second}Z`;
}

/** The elements that stand one after the other in these bytes. @throws Error when they are cut short */
export function readElements(bytes: Uint8Array): DerElement[] {
  const found: DerElement[] = [];
  for (let at = 0; at < bytes.length;) {
    const { headerLength, length } = readLength(bytes, at + 1);
    const start = at + 1 + headerLength;
    const end = start + length;
    if (end > bytes.length) throw new Error('the certificate is cut short');
    found.push({ tag: bytes[at] ?? 0, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) });
    at = end;
  }
  return found;
}

function readLength(bytes: Uint8Array, at: number): { headerLength: number; length: number } {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return { headerLength: 1, length: first };
  const count = first & 0x7f;
  if (count === 0 || count > 4) throw new Error('the certificate has a length in no known form');
  const digits = bytes.subarray(at + 1, at + 1 + count);
  return { headerLength: 1 + count, length: digits.reduce((sum, byte) => sum * 256 + byte, 0) };
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return [0x80 | bytes.length, ...bytes];
}

function base128(value: number): number[] {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift((rest % 128) | 0x80);
  return bytes;
}
