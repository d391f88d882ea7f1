/** URLs: absolute ones, or absolute paths. Upstream: apiserver/pkg/cel/library/urls.go over Go's net/url. */
import { chargeWork, comparisonWork, copyWork, textWork } from '../meter.ts';
import { structTypeOf } from '../types/type.ts';
import type { Declarations } from '../types/declarations.ts';
import type { CelObject } from '../runtime/values.ts';
import { EQUALS, FunctionError, TO_JSON, TYPE_NAME } from '../runtime/values.ts';

const NAME = 'kubernetes.URL';

class Url implements CelObject {
  readonly [TYPE_NAME] = NAME;
  readonly scheme: string;
  readonly host: string;
  readonly path: string;
  readonly query: string;
  readonly text: string;

  constructor(parts: { scheme: string; host: string; path: string; query: string; text: string }) {
    this.scheme = parts.scheme;
    this.host = parts.host;
    this.path = parts.path;
    this.query = parts.query;
    this.text = parts.text;
  }

  [EQUALS](other: Url): boolean {
    comparisonWork(this.text);
    return this.text === other.text;
  }

  [TO_JSON](): string {
    return this.text;
  }
}

const URL_PATTERN = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?]*))?([^?]*)(?:\?(.*))?$/s;
const HOST_PATTERN = /^(\[[0-9A-Fa-f:.%]+\]|[^:[\]\s<>"]*)(?::(\d*))?$/;

/** Declares the library. */
export function defineUrls(declarations: Declarations): void {
  declarations.addType(structTypeOf(NAME, undefined));
  declarations.define({
    [`url(string): ${NAME}`]: (text: string) => {
      const url = readUrl(text);
      if (typeof url === 'string') throw new FunctionError(`URL parse error during conversion from string: ${url}`);
      return url;
    },
    'isURL(string): bool': (text: string) => readUrl(text) instanceof Url,
    [`${NAME}.getScheme(): string`]: (url: Url) => url.scheme,
    [`${NAME}.getHost(): string`]: (url: Url) => url.host,
    [`${NAME}.getHostname(): string`]: (url: Url) => (hostParts(url.host)[0] ?? '').replace(/^\[|\]$/g, ''),
    [`${NAME}.getPort(): string`]: (url: Url) => hostParts(url.host)[1] ?? '',
    [`${NAME}.getEscapedPath(): string`]: (url: Url) => url.path,
    [`${NAME}.getQuery(): map<string, list<string>>`]: (url: Url) => queryOf(url.query),
  });
}

function hostParts(host: string): readonly (string | undefined)[] {
  copyWork(host.length);
  return HOST_PATTERN.exec(host)?.slice(1) ?? [];
}

/** Units of work for a character of a URL. */
const URL_WORK = 0.4;

/** The URL, or why the text is none. */
function readUrl(text: string): Url | string {
  textWork(text, URL_WORK);
  const failure = (why: string): string => `parse ${JSON.stringify(text)}: ${why}`;
  if (text === '') return failure('empty url');
  if (/[\u0000-\u001f\u007f]/.test(text)) return failure('net/url: invalid control character in URL');
  const [, scheme = '', authority, path = '', query = ''] = URL_PATTERN.exec(text) ?? [];
  if (scheme === '' && !text.startsWith('/')) return failure('invalid URI for request');
  if (scheme !== '' && authority === undefined && !path.startsWith('/')) return failure('invalid URI for request');
  const bad = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(path)?.[0];
  if (bad !== undefined) return failure(`invalid URL escape ${JSON.stringify(bad)}`);
  const host = (authority ?? '').slice((authority ?? '').lastIndexOf('@') + 1);
  if (!HOST_PATTERN.test(host)) return failure(`invalid character in host name or port`);
  return new Url({ scheme: scheme.toLowerCase(), host, path: escapePath(path), query, text });
}

function escapePath(path: string): string {
  return encodeURI(path.toWellFormed()).replaceAll('%25', '%').replaceAll('#', '%23');
}

/** Units of work for a character of a query. */
const QUERY_WORK = 5;

function queryOf(query: string): Map<string, string[]> {
  chargeWork(query.length * QUERY_WORK);
  const values = new Map<string, string[]>();
  for (const [key, value] of new URLSearchParams(query)) {
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.push(value);
  }
  return values;
}
