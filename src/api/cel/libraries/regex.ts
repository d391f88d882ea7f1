/**
 * Regular expressions run in re2js: linear in the text whatever the pattern. Upstream: cel-go's matches and
 * apiserver/pkg/cel/library/regex.go.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { RE2JS } from 're2js';
import { Lru } from '../../../base/lru.ts';
import { define } from '../define.ts';
import { charge } from '../meter.ts';
import { FunctionError } from '../values.ts';

const compiled = new Lru<string, RE2JS>(256);

/** Declares the library. */
export function defineRegex(environment: Environment): void {
  define(environment, {
    'string.@matches(string): bool': matches,
    '@matches(string, string): bool': matches,
    'string.find(string): string': (text: string, pattern: string) => findAll(text, pattern, 1n)[0] ?? '',
    'string.findAll(string): list<string>': (text: string, pattern: string) => findAll(text, pattern, -1n),
    'string.findAll(string, int): list<string>': findAll,
  });
}

/** Compiles a pattern. Throws {@link FunctionError} with Go's text. */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  try {
    const regex = RE2JS.compile(pattern);
    compiled.set(pattern, regex);
    return regex;
  } catch (error) {
    throw new FunctionError((error as Error).message);
  }
}

function priced(text: string, pattern: string): RE2JS {
  charge(Math.ceil((text.length + 1) / 10) * Math.ceil(pattern.length / 4));
  return compilePattern(pattern);
}

function matches(text: string, pattern: string): boolean {
  return priced(text, pattern).test(text);
}

function findAll(text: string, pattern: string, limit: bigint): string[] {
  const matcher = priced(text, pattern).matcher(text);
  const found: string[] = [];
  while ((limit < 0n || BigInt(found.length) < limit) && matcher.find()) found.push(matcher.group() ?? '');
  return found;
}
