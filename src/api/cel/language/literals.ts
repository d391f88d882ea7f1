/** Values of literals. Upstream: cel-go parser/unescape.go and the number literals of parser.go. */
import { Uint } from '../runtime/values.ts';

const MAX_INT = 9223372036854775807n;

/** An integer such as `-12` or `0x1F`; undefined when it does not fit into 64 bits. */
export function intOf(text: string): bigint | undefined {
  const negative = text.startsWith('-');
  const size = BigInt(negative ? text.slice(1) : text);
  if (size > MAX_INT + (negative ? 1n : 0n)) return undefined;
  return negative ? -size : size;
}

/** An unsigned integer such as `12u`; undefined when it does not fit into 64 bits. */
export function uintOf(text: string): Uint | undefined {
  const value = BigInt(text.slice(0, -1));
  return value > 0xffffffffffffffffn ? undefined : new Uint(value);
}

/** A double such as `1.5e3`; undefined when it is out of range. */
export function doubleOf(text: string): number | undefined {
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** The text between quotes, or the reason why it is malformed. */
export function textOf(token: string): { readonly value: string } | { readonly problem: string } {
  const { body, isRaw } = unquote(token);
  if (isRaw || !body.includes('\\')) return { value: body };
  const parts: string[] = [];
  for (const [piece, escape] of body.matchAll(PIECES)) {
    if (escape === undefined) parts.push(piece);
    else {
      const code = codeOf(escape);
      if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return { problem: 'invalid unicode code point' };
      parts.push(String.fromCodePoint(code));
    }
  }
  return { value: parts.join('') };
}

/** The bytes between quotes, or the reason why they are malformed. An escape of one byte denotes that byte. */
export function bytesOf(token: string): { readonly value: Uint8Array } | { readonly problem: string } {
  const { body, isRaw } = unquote(token);
  if (isRaw || !body.includes('\\')) return { value: new Uint8Array(Buffer.from(body)) };
  const parts: Buffer[] = [];
  for (const [piece, escape] of body.matchAll(PIECES)) {
    if (escape === undefined) parts.push(Buffer.from(piece));
    else if (/^[uU]/.test(escape)) return { problem: 'unable to unescape string' };
    else parts.push(Buffer.of(codeOf(escape)));
  }
  return { value: new Uint8Array(Buffer.concat(parts)) };
}

/** Each kind of escape has a fixed number of digits; a further digit is text. */
const PIECES = /\\([xX][\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-3][0-7]{2}|[^])|[^\\]+/g;

function unquote(token: string): { body: string; isRaw: boolean } {
  const isRaw = /^[rR]/.test(token);
  const quoted = isRaw ? token.slice(1) : token;
  const width = /^(?:"""|''')/.test(quoted) && quoted.length >= 6 ? 3 : 1;
  return { body: quoted.slice(width, -width), isRaw };
}

const SINGLE_ESCAPES: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
};

function codeOf(escape: string): number {
  if (/^[xXuU]/.test(escape) && escape.length > 1) return Number.parseInt(escape.slice(1), 16);
  if (/^[0-3]/.test(escape)) return Number.parseInt(escape, 8);
  return SINGLE_ESCAPES[escape] ?? escape.codePointAt(0)!;
}
