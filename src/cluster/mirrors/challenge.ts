/**
 * Parses the `WWW-Authenticate` header of a registry. Upstream: containerd's remotes/docker/auth, ParseAuthHeader. By hand,
 * since npm's parsers of challenges have no users. Pure.
 */

export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** By name in lower case. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** A longer header is that of no registry. */
const MAX_LENGTH = 4096;
const PARAMETER = /([!#$%&'*+.^_`|~\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([!#$%&'*+.^_`|~\w:/-]+))/y;
const SCHEME = /([!#$%&'*+.^_`|~\w-]+)(?=\s|,|$)/y;
const SEPARATORS = /[\s,]*/y;

/** The challenges in the header's order; empty for what cannot be parsed. */
export function parseChallenges(header: string): readonly Challenge[] {
  if (header.length > MAX_LENGTH) return [];
  const challenges: { scheme: string; parameters: Record<string, string> }[] = [];
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(header);
    if (match !== null) at = pattern.lastIndex;
    return match;
  };
  for (take(SEPARATORS); at < header.length; take(SEPARATORS)) {
    const parameter = take(PARAMETER);
    const current = challenges.at(-1);
    if (parameter !== null && current !== undefined) {
      const value = parameter[2]?.replace(/\\(.)/g, '$1') ?? parameter[3] ?? '';
      current.parameters[parameter[1]!.toLowerCase()] = value;
      continue;
    }
    const scheme = parameter === null ? take(SCHEME) : null;
    if (scheme === null) return [];
    challenges.push({ scheme: scheme[1]!.toLowerCase(), parameters: Object.create(null) as Record<string, string> });
  }
  return challenges;
}
