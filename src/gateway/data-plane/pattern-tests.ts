/** The tests of the regular expressions of a snapshot's routes, each compiled once, when a request first needs it. */
import { patternOf } from '../../api/json-schema/patterns.ts';
import { compileSize } from '../../api/re2-compile-size.ts';
import { getOrMake } from '../../base/get-or-make.ts';
import type { MatchWork } from './match-work.ts';

export type TextTest = (text: string, work: MatchWork) => boolean;

export class PatternTests {
  readonly #tests = new Map<string, TextTest>();
  readonly #former: ReadonlyMap<string, TextTest>;

  /** Takes over what was compiled for the former snapshot. */
  constructor(former?: PatternTests) {
    this.#former = former === undefined ? new Map<string, TextTest>() : former.#tests;
  }

  of(value: string): TextTest {
    return getOrMake(this.#tests, value, () => this.#former.get(value) ?? lazyPattern(value));
  }
}

/** Instructions that one request may compile: some 100 ms. */
const MAX_COMPILED = 100_000;

/**
 * Compiles the pattern when it is first asked: all patterns of a snapshot at once would hold every route. A request that exceeds
 * its work leaves its patterns compiled, so that later ones get further.
 */
function lazyPattern(value: string): TextTest {
  let test: TextTest | undefined;
  return (text, work) => {
    if (test === undefined) {
      if (work.isSpent) return false;
      test = compilePattern(value);
      work.take(compileSize(value) / MAX_COMPILED);
    }
    return test(text, work);
  };
}

/** A test whether the whole text matches. A text too long for the pattern's size, or an invalid pattern, never matches. */
function compilePattern(value: string): TextTest {
  const pattern = patternOf(`^(?:${value})$`);
  if ('error' in pattern) return () => false;
  const { longest } = pattern;
  return (text, work) => text.length <= longest && work.take(text.length / Math.max(1, longest)) && pattern.test(text);
}
