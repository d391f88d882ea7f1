/** Regular expressions of schemas run in RE2, in linear time for every pattern. */
import { errorMessage } from '../../base/errors.ts';
import { WeighedLru } from '../../base/weighed-lru.ts';
import { compileRe2 } from '../re2-pattern.ts';
import { keptSize, MAX_KEPT_SIZE } from '../re2-kept-size.ts';
import { programSize } from '../re2-size.ts';

/** A pattern, or the reason why it is invalid. */
type Pattern = { readonly test: (text: string) => boolean; readonly longest: number } | { readonly error: string };

const compiled = new WeighedLru<string, Pattern>(1000, MAX_KEPT_SIZE);

/**
 * Characters times instructions of the program, about fifty milliseconds when the matcher has no fast path. Upstream has threads
 * and no such limit.
 */
const MAX_WORK = 4_000_000;

function compile(pattern: string): Pattern {
  try {
    const program = compileRe2(pattern);
    const longest = Math.floor(MAX_WORK / Math.max(1, programSize(pattern)));
    return { test: (text) => program.test(text), longest };
  } catch (error) {
    return { error: errorMessage(error) };
  }
}

/**
 * The pattern's test (anywhere in a text, up to the longest text allowed), or the reason why it is invalid. Patterns in use are
 * cached.
 */
export function patternOf(pattern: string): Pattern {
  let cached = compiled.get(pattern);
  if (cached === undefined) {
    cached = compile(pattern);
    compiled.set(pattern, cached, 'error' in cached ? pattern.length : keptSize(pattern));
  }
  return cached;
}
