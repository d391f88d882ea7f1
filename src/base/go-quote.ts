/** Texts as Go prints them with %q. Upstream: strconv.Quote. */

/** Characters for which Go's unicode.IsPrint is false, and those that a quoted text escapes. */
const ESCAPED_BY_GO = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]|["\\]/gu;

const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['\u0007', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
]);

/** A text in double quotes, escaped as Go's %q. A lone surrogate is what Go makes of it when it decodes: U+FFFD. */
export function quote(text: string): string {
  return `"${text.toWellFormed().replace(ESCAPED_BY_GO, (one) => SHORT_ESCAPES.get(one) ?? numericEscape(one.codePointAt(0)!))}"`;
}

function numericEscape(code: number): string {
  const hex = code.toString(16);
  if (code < 0x80) return `\\x${hex.padStart(2, '0')}`;
  return code < 0x10000 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}
