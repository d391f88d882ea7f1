/** Escapes in URLs, checked by the rules of Go's `net/url` and with its error texts. */
import { quote } from './go-quote.ts';

const PLAIN_NAME = /^[\w.~!$&'()*+,;=:[\]<>"-]*$/;

/** Finds the first wrong character or escape of a host name. Only bytes beyond ASCII may be escaped in it. */
export function nameProblem(name: string, isZone: boolean): string | undefined {
  if (PLAIN_NAME.test(name)) return undefined;
  for (const { 0: part, index } of name.matchAll(/%(?:[\da-f]{2})?|[^%]/gisu)) {
    if (part === '%') return wrongEscape(name.slice(index));
    if (part.startsWith('%')) {
      if (!isAllowedInHost(part, isZone)) return wrongEscape(part);
    } else if (/[^\w.~!$&'()*+,;=:[\]<>"\u0080-\u{10ffff}-]/u.test(part)) {
      return `invalid character ${quote(part)} in host name`;
    }
  }
  return undefined;
}

function isAllowedInHost(escape: string, isZone: boolean): boolean {
  if (escape === '%25') return true;
  const byte = Number.parseInt(escape.slice(1), 16);
  if (!isZone) return byte >= 0x80;
  return /[ \w.~!$&'()*+,;=:[\]<>"-]/.test(String.fromCharCode(byte));
}

/** The first invalid escape as an error text; undefined when all are valid. */
export function escapeProblem(text: string): string | undefined {
  const at = text.search(/%(?![\da-f]{2})/i);
  return at < 0 ? undefined : wrongEscape(text.slice(at));
}

/** Names the first three bytes, which may end within a character. */
function wrongEscape(text: string): string {
  let shown = '';
  for (let left = 3; left > 0;) {
    const character = String.fromCodePoint(text.codePointAt(shown.length) ?? 0);
    if (shown.length >= text.length) break;
    const bytes = Buffer.from(character);
    if (bytes.length > left) {
      const rest = [...bytes.subarray(0, left)].map((byte) => `\\x${byte.toString(16)}`).join('');
      return `invalid URL escape ${quote(shown).slice(0, -1)}${rest}"`;
    }
    shown += character;
    left -= bytes.length;
  }
  return `invalid URL escape ${quote(shown)}`;
}

/** The text with its escapes decoded. */
export function unescaped(text: string): string {
  return text.includes('%') ? bytesOf(text).toString('utf8') : text;
}

function bytesOf(text: string): Buffer {
  const parts = text.split(/((?:%[\da-f]{2})+)/i);
  return Buffer.concat(
    parts.map((part, index) => (index % 2 === 1 ? Buffer.from(part.replaceAll('%', ''), 'hex') : Buffer.from(part))),
  );
}

/** A path as Go prints it: unchanged where that is valid, otherwise escaped again. */
export function escapedGoPath(path: string): string {
  if (path === '*' || /^[\w.~$&+,/:;=@!'()*[\]%-]*$/.test(path)) return path;
  return [...bytesOf(path)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[\w.~$&+,/:;=@-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}
