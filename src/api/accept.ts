/** Accept headers: the media types that a client accepts, in its order of preference. */

/** One clause of an Accept header. */
export interface AcceptClause {
  readonly type: string;
  readonly params: Readonly<Record<string, string>>;
  readonly quality: number;
}

/** Browsers send ten clauses. Every request's header is parsed, also that of a request that is refused. */
const MAX_CLAUSES = 100;
const MAX_PARAMS = 20;

/** The clauses, the preferred first. Clauses beyond a hundred are ignored. */
export function parseAccept(header: string): AcceptClause[] {
  const clauses = header.split(',', MAX_CLAUSES).map((text) => {
    const [type = '', ...rest] = text.split(';', MAX_PARAMS).map((part) => part.trim());
    const params: Record<string, string> = {};
    for (const part of rest) {
      const at = part.indexOf('=');
      if (at > 0) params[part.slice(0, at).toLowerCase()] = part.slice(at + 1).replaceAll('"', '');
    }
    const quality = params['q'] === undefined ? 1 : Number(params['q']);
    return { type: type.toLowerCase(), params, quality };
  });
  return clauses.filter((clause) => clause.quality > 0).sort((a, b) => b.quality - a.quality);
}
