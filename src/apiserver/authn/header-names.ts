/** User names and extra values in headers. Upstream: headerrequest, filters/impersonation. */
import { headerTextOf, percentDecoded } from '../../base/header-text.ts';
import { badRequest } from '../../api/status-error.ts';
import { type ApiRequest, headerLines } from '../../api/transport.ts';

/** Extra values by key. */
export type HeaderExtra = Record<string, readonly string[]>;

/** The text of a header value. Throws 400 for bytes that are not UTF-8. */
export function nameInHeader(name: string, value: string): string {
  const text = headerTextOf(value);
  if (text === undefined) throw badRequest(`header ${name} is not valid UTF-8`);
  return text;
}

/** The texts of a header, one per line. */
export function namesInHeader(request: ApiRequest, name: string): string[] {
  return headerLines(request, name).map((line) => nameInHeader(name, line));
}

/**
 * Adds values under the key at the end of a header's name. Different spellings of a key are merged; keys never reach
 * the prototype.
 */
export function addExtra(extra: HeaderExtra, keyPart: string, values: readonly string[]): void {
  const key = percentDecoded(keyPart);
  const before = Object.hasOwn(extra, key) ? extra[key]! : [];
  Object.defineProperty(extra, key, {
    value: [...before, ...values],
    enumerable: true,
    configurable: true,
    writable: true,
  });
}
