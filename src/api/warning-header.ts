/** Parses `Warning` headers of responses. Upstream: ParseWarningHeaders in apimachinery/pkg/util/net. */

/**
 * The texts of a header with one or more comma-separated warnings. UTF-8 bytes arrive as Latin-1, as HTTP clients decode headers.
 */
export function warningTexts(header: string): string[] {
  return [...header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    utf8(text.replaceAll(/\\(.)/g, '$1')),
  );
}

function utf8(latin1: string): string {
  return new TextDecoder().decode(Uint8Array.from(latin1, (character) => character.charCodeAt(0)));
}
