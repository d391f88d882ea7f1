// Counts what the types of the product should make needless, and fails when there is more of it than before:
// - a default for metadata that every stored object has (`metadata.name ?? ''`): take `Stored<T>` (src/api/object.ts);
// - a type forced through `unknown`: give the value its type where it is made;
// - a property spread in only when it is defined: `undefined` does no harm in an object of dependencies or options. Where an
//   object goes on as JSON key by key, or is kept by the thousand, the spread is right.
// The bounds only ever fall: who removes some lowers the bound.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { isMain, repositoryRoot } from './repository.ts';

interface Pattern {
  readonly name: string;
  readonly pattern: RegExp;
  /** How many the product has. */
  readonly most: number;
}

/** What is counted. Exported for its test. */
export const patterns: readonly Pattern[] = [
  {
    name: 'defaults for metadata',
    pattern: /\bmetadata[?!]?\.(?:name|namespace|uid|resourceVersion) \?\? ''/g,
    most: 153,
  },
  { name: 'types forced through unknown', pattern: /\bas unknown as\b/g, most: 6 },
  { name: 'conditional spreads', pattern: /\.\.\.\([^;{}]*?(?:\? \{\s*\} :|&& \{)/g, most: 327 },
];

/** How often each pattern occurs in the sources, by its name. */
export function countNoise(sources: readonly string[]): ReadonlyMap<string, number> {
  const count = (pattern: RegExp): number => sources.reduce((sum, text) => sum + [...text.matchAll(pattern)].length, 0);
  return new Map(patterns.map(({ name, pattern }) => [name, count(pattern)]));
}

function productSources(root: string): string[] {
  const exclude = (path: string): boolean => /\/gen$|\.test\.ts$|-fixture\.ts$|-suite\.ts$/.test(path);
  return globSync('src/**/*.ts', { cwd: root, exclude }).map((path) => readFileSync(join(root, path), 'utf8'));
}

function main(): void {
  const counts = countNoise(productSources(repositoryRoot));
  for (const { name, most } of patterns) {
    const found = counts.get(name) ?? 0;
    if (found <= most) continue;
    console.error(`${found} ${name}, at most ${most} (tools/type-noise.ts says what to do instead)`);
    process.exitCode = 1;
  }
}

if (isMain(import.meta.url)) main();
