/**
 * Regular expressions. They run in re2js, whose time is linear in the text for every pattern. Upstream: cel-go's matches and
 * apiserver/pkg/cel/library/regex.go.
 */
import type { RE2JS } from 're2js';
import { WeighedLru } from '../../../base/weighed-lru.ts';
import { compileRe2 } from '../../re2-pattern.ts';
import { compileSize } from '../../re2-compile-size.ts';
import { keptSize, MAX_KEPT_SIZE } from '../../re2-kept-size.ts';
import { programSize } from '../../re2-size.ts';
import { chargeWork } from '../meter.ts';
import { FunctionError } from '../runtime/values.ts';
import type { Declarations } from '../types/declarations.ts';

interface Compiled {
  readonly regex: RE2JS;
  /** The size of the compiled program. */
  readonly size: number;
  /** The work that compiling it took. */
  readonly work: number;
}

const compiled = new WeighedLru<string, Compiled>(256, MAX_KEPT_SIZE);

/** Units of work for compiling one instruction of a pattern that is not in the cache. */
const COMPILING_COST = 8;
/**
 * Units of work (characters times instructions) per unit of cost. Upstream charges characters and a quarter of the pattern's
 * length; a short pattern with nested repetitions takes far longer.
 */
const WORK_OF_UNIT = 16;
/** Units of work for finding one more match, even of a simple pattern. */
const MATCH_WORK = 12;
/** Units of work for a search for all matches. */
const SEARCH_WORK = 20;
/** Work below this is free, so that ordinary names and labels cost what they cost upstream. */
const FREE_WORK = 1024;

export function defineRegex(declarations: Declarations): void {
  declarations.define({
    'matches(string, string): bool': matches,
    'string.matches(string): bool': matches,
    'string.find(string): string': (text: string, pattern: string) => findAll(text, pattern, 1n)[0] ?? '',
    'string.findAll(string): list<string>': (text: string, pattern: string) => findAll(text, pattern, -1n),
    'string.findAll(string, int): list<string>': findAll,
  });
}

/** Compiles a constant pattern while its expression is compiled. Throws {@link FunctionError} with Go's text. */
export function compilePattern(pattern: string): void {
  const existing = compiled.get(pattern);
  if (existing === undefined) compileNew(pattern);
  else chargeWork(existing.work);
}

function compiledOf(pattern: string): Compiled {
  return compiled.get(pattern) ?? compileNew(pattern);
}

function compileNew(pattern: string): Compiled {
  const size = programSize(pattern);
  const work = COMPILING_COST * compileSize(pattern);
  chargeWork(work);
  try {
    const made = { regex: compileRe2(pattern), size, work };
    compiled.set(pattern, made, keptSize(pattern));
    return made;
  } catch (error) {
    throw new FunctionError((error as Error).message);
  }
}

function priced(text: string, pattern: string): Compiled {
  const made = compiledOf(pattern);
  chargeWork(Math.floor(Math.max(0, text.length * made.size - FREE_WORK) / WORK_OF_UNIT));
  return made;
}

function matches(text: string, pattern: string): boolean {
  return priced(text, pattern).regex.test(text);
}

function findAll(text: string, pattern: string, limit: bigint): string[] {
  const { regex, size } = legal(text, pattern);
  chargeWork(SEARCH_WORK);
  const matcher = regex.matcher(text);
  const found: string[] = [];
  while ((limit < 0n || BigInt(found.length) < limit) && matcher.find()) {
    const part = matcher.group() ?? '';
    chargeWork(MATCH_WORK + Math.floor(((part.length + 1) * size) / (WORK_OF_UNIT / 4)));
    found.push(part);
  }
  return found;
}

function legal(text: string, pattern: string): Compiled {
  try {
    return priced(text, pattern);
  } catch (error) {
    if (!(error instanceof FunctionError)) throw error;
    throw new FunctionError(`Illegal regex: ${error.message}`);
  }
}
