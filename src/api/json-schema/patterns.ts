/** Regular expressions of schemas, as RE2: linear in the text whatever the pattern. */
import { RE2JS } from 're2js';
import { Lru } from '../../base/lru.ts';

const compiled = new Lru<string, { readonly test: (text: string) => boolean } | { readonly error: string }>(1000);

function compile(pattern: string): { readonly test: (text: string) => boolean } | { readonly error: string } {
  try {
    const program = RE2JS.compile(pattern);
    return { test: (text) => program.matcher(text).find() };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** The pattern's test (anywhere in the text), or why it is none. Kept for as long as it is in use. */
export function patternOf(pattern: string): { readonly test: (text: string) => boolean } | { readonly error: string } {
  let known = compiled.get(pattern);
  if (known === undefined) compiled.set(pattern, (known = compile(pattern)));
  return known;
}
