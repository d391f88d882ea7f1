/** Keeps the console's cookies between browser and API server: no backend behind a proxy path sees or sets them. */

/** What the names of these cookies begin with. */
export const CONSOLE_COOKIE = '__Host-keelson-console';

/** The `Cookie` header for a backend; undefined when nothing is left of it. */
export function cookiesForBackend(header: string): string | undefined {
  if (!header.includes(CONSOLE_COOKIE)) return header;
  const kept = header.split(';').filter((pair) => !isConsoleCookie(pair));
  return kept.length === 0 ? undefined : kept.join(';').trim();
}

/** The `Set-Cookie` lines of a backend that the browser may have. */
export function cookiesOfBackend(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => !isConsoleCookie(line));
}

/** The head of a backend's answer as the browser may have it, where it is passed on byte for byte. */
export function headForBrowser(raw: Uint8Array): Uint8Array {
  const text = Buffer.from(raw).toString('latin1');
  if (!text.includes(CONSOLE_COOKIE)) return raw;
  // A line that begins with a blank goes on the line before.
  const kept = text
    .split(/\r?\n/)
    .filter((line) => !(/^(set-cookie:|[ \t])/i.test(line) && line.includes(CONSOLE_COOKIE)));
  return Buffer.from(kept.join('\r\n'), 'latin1');
}

function isConsoleCookie(pair: string): boolean {
  return pair.trimStart().startsWith(CONSOLE_COOKIE);
}
