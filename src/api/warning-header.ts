/** Reads `Warning` headers of answers. Upstream: ParseWarningHeaders in apimachinery/pkg/util/net. */

/** The texts of a header, which may have several warnings with commas between. Bytes of UTF-8 come as Latin-1, as HTTP clients read them. */
export function warningTexts(header: string): string[] {
  return [...header.matchAll(/299 \S+ "((?:[^"\\]|\\.)*)"/g)].map(([, text = '']) =>
    utf8(text.replaceAll(/\\(.)/g, '$1')),
  );
}

function utf8(latin1: string): string {
  return new TextDecoder().decode(Uint8Array.from(latin1, (character) => character.charCodeAt(0)));
}
