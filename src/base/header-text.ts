/**
 * Text in HTTP headers. Ports carry header values like Node.js, one character per byte. Go writes strings as their
 * UTF-8 bytes, so names beyond ASCII are encoded here when sent and decoded when received. Upstream:
 * golang.org/x/net/http/httpguts, client-go transport/round_trippers.go.
 */

const CONTROLS = /[\u0000-\u0008\u000a-\u001f\u007f]/;
const BEYOND_ASCII = /[^\u0000-\u007f]/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Whether a header may have this name. */
export function isHeaderName(name: string): boolean {
  return TOKEN.test(name);
}

/** Whether Go's net/http would send the value: a control character other than a tab could begin another header or request. */
export function isHeaderValue(value: string): boolean {
  return !CONTROLS.test(value);
}

/** Text as a header value: a character per byte of its UTF-8 form. */
export function headerValueOf(text: string): string {
  return BEYOND_ASCII.test(text) ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

/** The text of a header value; undefined when its bytes are not UTF-8: two values must not become one name. */
export function headerTextOf(value: string): string | undefined {
  if (!BEYOND_ASCII.test(value)) return value;
  try {
    return utf8.decode(Buffer.from(value, 'latin1'));
  } catch {
    return undefined;
  }
}

/** Text as part of a header's name: every byte that is no token character, and the percent sign, as `%XX`. */
export function headerNamePart(text: string): string {
  let escaped = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    const character = String.fromCharCode(byte);
    escaped += character !== '%' && isHeaderName(character) ? character : `%${hex(byte)}`;
  }
  return escaped;
}

/** Percent-encoded UTF-8 as text; what is no valid encoding stands for itself, as upstream. The opposite of `headerNamePart`. */
export function percentDecoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * A value that can be sent unchanged: control characters become spaces, and spaces around it are removed, which
 * HTTP/2 forbids.
 */
export function sendableHeaderValue(value: string): string {
  return headerValueOf(value.replaceAll(new RegExp(CONTROLS, 'g'), ' ').trim());
}

function hex(byte: number): string {
  return byte.toString(16).toUpperCase().padStart(2, '0');
}
