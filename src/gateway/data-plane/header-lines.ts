/**
 * Headers as lists of alternating names and values, as Node.js reads them: repeated headers stay separate and keep their order.
 * Headers of one connection are not forwarded, and no header of a client can pass as one of the proxy.
 */
import { HOP_BY_HOP, isChangeableHeader, isHeaderValue } from '../snapshot/header-rules.ts';
import type { HeaderChanges } from '../snapshot/snapshot.ts';

/** Name, value, name, value … */
export type HeaderLines = readonly string[];

/** Headers that backends receive only from this proxy. Servers that read headers as variables treat `_` as `-`. */
const FORWARDED = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-server',
  'x-real-ip',
]);

/** All values of a header, joined by commas. */
export function headerValue(lines: HeaderLines, name: string): string | undefined {
  let value: string | undefined;
  for (let at = 0; at < lines.length; at += 2)
    if (isNamed(lines[at]!, name)) value = value === undefined ? lines[at + 1] : `${value}, ${lines[at + 1]}`;
  return value;
}

/** All values of each header, joined by commas, by its name in lower case. */
export function headerValues(lines: HeaderLines): ReadonlyMap<string, string> {
  const values = new Map<string, string>();
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]!.toLowerCase();
    const before = values.get(name);
    values.set(name, before === undefined ? lines[at + 1]! : `${before}, ${lines[at + 1]!}`);
  }
  return values;
}

export function headerCount(lines: HeaderLines, name: string): number {
  let count = 0;
  for (let at = 0; at < lines.length; at += 2) if (isNamed(lines[at]!, name)) count++;
  return count;
}

function isNamed(line: string, name: string): boolean {
  return line.length === name.length && line.toLowerCase() === name;
}

/** The headers of a request that are forwarded, without `host` and the proxy's own headers. */
export function requestLines(lines: HeaderLines): string[] {
  const named = connectionTokens(lines);
  const output: string[] = [];
  const cookies: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]!.toLowerCase();
    if (name[0] === ':' || name === 'host' || HOP_BY_HOP.has(name) || named?.has(name) === true) continue;
    if (name[0] === 'x' || name[0] === 'f') if (FORWARDED.has(name.replaceAll('_', '-'))) continue;
    // HTTP/2 sends each cookie in a line of its own, HTTP/1.1 allows only one line.
    if (name === 'cookie') cookies.push(lines[at + 1]!);
    else output.push(name, lines[at + 1]!);
  }
  if (cookies.length > 0) output.push('cookie', cookies.join('; '));
  return output;
}

/** The headers of a response that are forwarded. */
export function responseLines(lines: HeaderLines): string[] {
  const named = connectionTokens(lines);
  const output: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]!.toLowerCase();
    if (name[0] === ':' || HOP_BY_HOP.has(name) || named?.has(name) === true) continue;
    output.push(name, lines[at + 1]!);
  }
  return output;
}

/** The trailers that are forwarded: none that frames a message, names its host or identifies the client (RFC 9110, 6.5.1). */
export function trailerLines(lines: HeaderLines): string[] {
  const output: string[] = [];
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at]!.toLowerCase();
    if (isChangeableHeader(name) && !FORWARDED.has(name.replaceAll('_', '-'))) output.push(name, lines[at + 1]!);
  }
  return output;
}

/** Headers named by `Connection` belong to the connection, except those that frame a message or name its host. */
function connectionTokens(lines: HeaderLines): ReadonlySet<string> | undefined {
  const value = headerValue(lines, 'connection');
  if (value === undefined) return undefined;
  const tokens = new Set(value.split(',').map((token) => token.trim().toLowerCase()));
  for (const fixed of ['host', 'content-length', 'cookie', 'authorization']) tokens.delete(fixed);
  return tokens;
}

/** Applies the changes that `header-rules.ts` allows. */
export function applyChanges(lines: string[], changes: HeaderChanges | undefined): string[] {
  if (changes === undefined) return lines;
  const isAllowed = ([name, value]: readonly [string, string]): boolean =>
    isChangeableHeader(name) && isHeaderValue(value);
  const set = (changes.set ?? []).filter(isAllowed);
  const add = (changes.add ?? []).filter(isAllowed);
  const gone = new Set((changes.remove ?? []).filter(isChangeableHeader).map((name) => name.toLowerCase()));
  for (const [name] of set) gone.add(name.toLowerCase());
  const output: string[] = [];
  for (let at = 0; at < lines.length; at += 2) if (!gone.has(lines[at]!)) output.push(lines[at]!, lines[at + 1]!);
  for (const [name, value] of set) output.push(name.toLowerCase(), value);
  for (const [name, value] of add) output.push(name.toLowerCase(), value);
  return output;
}

/**
 * Headers in the form of Node's HTTP/2, which refuses lists for single-valued headers. Repeated headers are joined by commas,
 * equal ones merged; `set-cookie` stays a list.
 */
export function headerObject(lines: HeaderLines): Record<string, string | string[]> {
  const object: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  for (let at = 0; at < lines.length; at += 2) {
    const [name, value] = [lines[at]!, lines[at + 1]!];
    const before = object[name];
    if (name === 'set-cookie') object[name] = before === undefined ? [value] : [...before, value];
    else if (before === undefined) object[name] = value;
    else if (before !== value) object[name] = `${String(before)}, ${value}`;
  }
  return object;
}
