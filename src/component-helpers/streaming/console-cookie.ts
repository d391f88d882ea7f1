/**
 * Keeps the console's cookies between browser and API server: backends behind a proxy path neither see nor set them.
 */

import { ORIGIN_HEADERS } from './origin-headers.ts';

/** The prefix of the names of these cookies. */
export const CONSOLE_COOKIE = '__Host-keelson-console';

/** The `Cookie` header for a backend; undefined when no cookie is left. */
export function cookiesForBackend(header: string): string | undefined {
  if (!header.includes(CONSOLE_COOKIE)) return header;
  const remaining = header.split(';').filter((pair) => !isConsoleCookie(pair));
  return remaining.length === 0 ? undefined : remaining.join(';').trim();
}

/** The `Set-Cookie` lines of a backend that may reach the browser. */
export function cookiesOfBackend(lines: readonly string[]): readonly string[] {
  return lines.filter((line) => !isConsoleCookie(line));
}

const OF_ORIGIN = new RegExp(String.raw`^(?:${[...ORIGIN_HEADERS].join('|')})\s*:`, 'im');

/**
 * The head of a backend's response, to be forwarded byte for byte: without the console's cookies and without headers
 * that affect the whole origin.
 */
export function headForBrowser(raw: Uint8Array): Uint8Array {
  const text = Buffer.from(raw).toString('latin1');
  if (!text.includes(CONSOLE_COOKIE) && !OF_ORIGIN.test(text)) return raw;
  const kept: string[] = [];
  let isLeftOut = false;
  for (const line of text.split(/\r?\n/)) {
    // A line that begins with a blank continues the previous line.
    const goesOn = /^[ \t]/.test(line);
    isLeftOut = (goesOn && isLeftOut) || OF_ORIGIN.test(line) || setsConsoleCookie(line, goesOn);
    if (!isLeftOut) kept.push(line);
  }
  return Buffer.from(kept.join('\r\n'), 'latin1');
}

function setsConsoleCookie(line: string, goesOn: boolean): boolean {
  return (goesOn || /^set-cookie\s*:/i.test(line)) && line.includes(CONSOLE_COOKIE);
}

function isConsoleCookie(pair: string): boolean {
  return pair.trimStart().startsWith(CONSOLE_COOKIE);
}
