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

function isConsoleCookie(pair: string): boolean {
  return pair.trimStart().startsWith(CONSOLE_COOKIE);
}
