/** Compiles what clients call a regular expression, within bounds. Upstream: Go's regexp/syntax, whose limits on nesting and size these follow. */
import { RE2JS } from 're2js';
import { programSize } from './re2-size.ts';

/** Go refuses deeper nesting. */
const MAX_NESTING = 1000;
/** The compiler takes some ten milliseconds for this many characters. Go's limit is on the program's size. */
const MAX_LENGTH = 16 * 1024;
/** A program of this many instructions takes as long. Go allows some three million. */
const MAX_PROGRAM = 20_000;

/** Throws an Error with Go's text. */
export function compileRe2(pattern: string): RE2JS {
  if (pattern.length > MAX_LENGTH) throw new Error('error parsing regexp: expression too large');
  let nesting = 0;
  for (let at = pattern.indexOf('('); at >= 0; at = pattern.indexOf('(', at + 1)) nesting++;
  if (nesting > MAX_NESTING && nests(pattern)) throw new Error('error parsing regexp: expression nests too deeply');
  if (programSize(pattern) > MAX_PROGRAM) throw new Error('error parsing regexp: expression too large');
  return RE2JS.compile(pattern);
}

/** Whether parentheses nest too deeply; those in classes and quoted texts count, which only a hostile pattern has so many of. */
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
