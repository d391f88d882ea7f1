/**
 * Rewrites the name of a repository with regular expressions in Go's syntax. Time is linear in the name. Upstream: the
 * k3s-io fork of containerd, `withRewritesFromHost`. Differs: the fork tries the rewrites in the order of a Go map, which
 * changes from one pull to the next; here it is that of the file. A regular expression that is wrong fails the start
 * there it is skipped. Pure.
 */
import type { RE2JS } from 're2js';
import { compileRe2 } from '../../api/re2-pattern.ts';

/** The new name; the same where no rewrite applies. */
export type RewriteName = (name: string) => string;

/**
 * The first rewrite that changes a name is the only one applied to it. Entries are pattern and replacement. Throws an
 * Error with Go's text.
 */
export function compileRewrites(rewrites: readonly (readonly [pattern: string, replacement: string])[]): RewriteName {
  const compiled = rewrites.map(([pattern, replacement]) => {
    const regex = compileRe2(pattern);
    return { regex, pieces: parseReplacement(replacement, regex) };
  });
  return (name) => {
    for (const { regex, pieces } of compiled) {
      const rewritten = replaceAll(regex, name, pieces);
      if (rewritten !== name) return cleanPath(rewritten);
    }
    return name;
  };
}

/** A text, or the number of a group. */
type Piece = string | number;

/** Go's Regexp.Expand: `$1`, `${1}`, `$name`, `${name}`, `$$`; the longest run of word characters is the name. */
function parseReplacement(text: string, regex: RE2JS): readonly Piece[] {
  const names = regex.namedGroups();
  const pieces: Piece[] = [];
  let from = 0;
  for (const match of text.matchAll(/\$(?:(\$)|\{(\w+)\}|(\w+))/g)) {
    pieces.push(text.slice(from, match.index));
    from = match.index + match[0].length;
    const reference = match[2] ?? match[3];
    if (reference === undefined) pieces.push('$');
    else if (/^\d+$/.test(reference)) pieces.push(Number(reference));
    else if (Object.hasOwn(names, reference)) pieces.push(names[reference]!);
  }
  return [...pieces, text.slice(from)];
}

/** Go's ReplaceAllString: an empty match next to the previous match is left out. */
function replaceAll(regex: RE2JS, text: string, pieces: readonly Piece[]): string {
  const matcher = regex.matcher(text);
  const groups = regex.groupCount();
  let result = '';
  let end = 0;
  while (matcher.find()) {
    result += text.slice(end, matcher.start());
    if (matcher.end() > end || matcher.start() === 0)
      for (const piece of pieces)
        result += typeof piece === 'string' ? piece : ((piece <= groups ? matcher.group(piece) : null) ?? '');
    end = matcher.end();
  }
  return result + text.slice(end);
}

/** As Go's path.Join puts the name between others. */
function cleanPath(name: string): string {
  return name.split('/').filter(Boolean).join('/');
}
