/**
 * Compiles regular expressions of clients within limits. Upstream: Go's regexp/syntax, whose limits of nesting and size these
 * follow.
 */
import { RE2JS } from 're2js';
import { compileSize, MAX_PATTERN_LENGTH } from './re2-compile-size.ts';
import { programSize } from './re2-size.ts';

/** As Go, deeper nesting is refused. */
const MAX_NESTING = 1000;
/** Compiling a program of this many instructions takes as long. Go allows some three million. */
const MAX_PROGRAM = 20_000;
/** With classes of thousands of characters: some sixty milliseconds. */
const MAX_COMPILE_SIZE = 80_000;

/** Throws an Error with Go's text. */
export function compileRe2(pattern: string): RE2JS {
  if (pattern.length > MAX_PATTERN_LENGTH) throw new Error('error parsing regexp: expression too large');
  let nesting = 0;
  for (let at = pattern.indexOf('('); at >= 0; at = pattern.indexOf('(', at + 1)) nesting++;
  if (nesting > MAX_NESTING && nests(pattern)) throw new Error('error parsing regexp: expression nests too deeply');
  if (programSize(pattern) > MAX_PROGRAM || compileSize(pattern) > MAX_COMPILE_SIZE)
    throw new Error('error parsing regexp: expression too large');
  return RE2JS.compile(pattern);
}

/**
 * Whether parentheses nest too deep. Parentheses in classes and quoted texts count too; only hostile patterns have many of them.
 */
function nests(pattern: string): boolean {
  let depth = 0;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at];
    if (character === '\\') at++;
    else if (character === '(' && ++depth > MAX_NESTING) return true;
    else if (character === ')') depth--;
  }
  return false;
}
