/** Estimates the size of a regular expression's program before it is compiled. Upstream: Go's regexp/syntax checkSize. */

const REPEAT = /\{(\d+)(,(\d*))?\}/y;

/** The approximate number of instructions: a repetition with a count copies its operand. */
export function programSize(pattern: string): number {
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
      if (character === '\\') at++;
      else if (character === '[') at = classEnd(pattern, at);
      if (character !== '*' && character !== '+' && character !== '?') atom = 1;
      size++;
    }
  }
  return outer.reduce((sum, one) => sum + one, size);
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
