/** URLs: absolute ones, or absolute paths. Upstream: apiserver/pkg/cel/library/urls.go over Go's net/url. */
import { escapedGoPath } from '../../../base/go-escapes.ts';
import { goQueryPairs, type GoUrl, parseGoRequestUri, parseGoUrl, splitGoHost } from '../../../base/go-url.ts';
import { chargeWork, comparisonWork, copyWork, textWork } from '../meter.ts';
import { structTypeOf } from '../types/type.ts';
import type { Declarations } from '../types/declarations.ts';
import type { CelObject } from '../runtime/values.ts';
import { EQUALS, FunctionError, TO_JSON, TYPE_NAME } from '../runtime/values.ts';

const NAME = 'kubernetes.URL';

class Url implements CelObject {
  readonly [TYPE_NAME] = NAME;
  readonly parts: GoUrl;
  readonly text: string;

  constructor(parts: GoUrl, text: string) {
    this.parts = parts;
    this.text = text;
  }

  [EQUALS](other: Url): boolean {
    comparisonWork(this.text);
    return this.text === other.text;
  }

  [TO_JSON](): string {
    return this.text;
  }
}

export function defineUrls(declarations: Declarations): void {
  declarations.addType(structTypeOf(NAME, undefined));
  declarations.define({
    [`url(string): ${NAME}`]: (text: string) => {
      const url = readUrl(text);
      if (typeof url === 'string') throw new FunctionError(`URL parse error during conversion from string: ${url}`);
      return url;
    },
    'isURL(string): bool': (text: string) => readUrl(text) instanceof Url,
    [`${NAME}.getScheme(): string`]: (url: Url) => url.parts.scheme,
    [`${NAME}.getHost(): string`]: (url: Url) => url.parts.host,
    [`${NAME}.getHostname(): string`]: (url: Url) => hostParts(url)[0],
    [`${NAME}.getPort(): string`]: (url: Url) => hostParts(url)[1],
    [`${NAME}.getEscapedPath(): string`]: (url: Url) => {
      chargeWork(url.parts.path.length * URL_WORK);
      return escapedGoPath(url.parts.path);
    },
    [`${NAME}.getQuery(): map<string, list<string>>`]: (url: Url) => queryOf(url.parts.query),
  });
}

function hostParts({ parts }: Url): readonly [name: string, port: string] {
  copyWork(parts.host.length);
  return splitGoHost(parts.host);
}

/** Units of work for a character of a URL. */
const URL_WORK = 0.4;

/** The parsed URL, or the reason why the text is invalid. */
function readUrl(text: string): Url | string {
  textWork(text, URL_WORK);
  const request = parseGoRequestUri(text);
  if (typeof request === 'string') return request;
  // As upstream, the URL is parsed as that of a request, so a fragment is part of the path.
  const url = parseGoUrl(text);
  return typeof url === 'string' ? url : new Url(url, text);
}

/** Units of work for a character of a query. */
const QUERY_WORK = 5;

function queryOf(query: string): Map<string, string[]> {
  chargeWork(query.length * QUERY_WORK);
  const values = new Map<string, string[]>();
  for (const [key, value] of goQueryPairs(query)) {
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.push(value);
  }
  return values;
}
