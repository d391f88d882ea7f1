/** Estimates the size of a regular expression's program before it is compiled. Upstream: Go's regexp/syntax checkSize. */

const REPEAT = /\{(\d+)(,(\d*))?\}/y;

/**
 * The approximate number of instructions: a repetition with a count copies its operand. `unicodeClass`: what a class such as `\pL`
 * counts as.
 */
export function programSize(pattern: string, unicodeClass = 1): number {
  const outer: number[] = [];
  let size = 0;
  /** The size of the operand that a repetition at this place would copy. */
  let atom = 0;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at];
    if (character === '(') {
      outer.push(size);
      size = 0;
      atom = 0;
    } else if (character === ')') {
      atom = size + 2;
      size = (outer.pop() ?? 0) + atom;
    } else if (character === '{') {
      REPEAT.lastIndex = at;
      const match = REPEAT.exec(pattern);
      if (match === null) size += atom = 1;
      else {
        const grown = atom * Math.max(1, Number(match[1]), Number(match[3] ?? 0));
        size += grown - atom;
        atom = grown;
        at += match[0].length - 1;
      }
    } else {
      const from = at;
      if (character === '\\') at = escapeEnd(pattern, at);
      else if (character === '[') at = classEnd(pattern, at);
      const added = unicodeClass === 1 ? 1 : 1 + (unicodeClass - 1) * unicodeClasses(pattern, from, at);
      if (character !== '*' && character !== '+' && character !== '?') atom = added;
      size += added;
    }
  }
  return outer.reduce((sum, one) => sum + one, size);
}

/** The number of `\p` and `\P` between two places, inclusive. */
function unicodeClasses(pattern: string, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at++)
    if (pattern[at] === '\\') {
      at++;
      if (pattern[at] === 'p' || pattern[at] === 'P') count++;
    }
  return count;
}

/** The last character of an escape: of `\pL` and `\p{Greek}` the name belongs to it. */
function escapeEnd(pattern: string, start: number): number {
  const [named, bracket] = [pattern[start + 1], pattern[start + 2]];
  if (named !== 'p' && named !== 'P') return start + 1;
  const end = bracket === '{' ? pattern.indexOf('}', start) : start + 2;
  return end < 0 ? pattern.length : end;
}

function classEnd(pattern: string, start: number): number {
  let at = pattern[start + 1] === '^' ? start + 2 : start + 1;
  if (pattern[at] === ']') at++;
  for (; at < pattern.length; at++) {
    if (pattern[at] === '\\') at++;
    else if (pattern[at] === '[' && pattern[at + 1] === ':') {
      const end = pattern.indexOf(':]', at + 2);
      if (end >= 0) at = end + 1;
    } else if (pattern[at] === ']') return at;
  }
  return pattern.length;
}
