// Counts code that the product's types should make unnecessary, and fails when there is more than before:
// - a default for metadata that every stored object has (`metadata.name ?? ''`): take `Stored<T>` (src/api/object.ts);
// - a cast through `unknown` or `never`: give the value its type where it is created;
// - a conditional spread of a property: `undefined` does no harm in an object of dependencies or options. For an object that is
//   sent as JSON, or stored by the thousand, the spread is right. The bounds may only fall: who removes some lowers the bound.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { isMain, repositoryRoot } from './repository.ts';

interface Pattern {
  readonly name: string;
  readonly pattern: RegExp;
  /** The limit for the product. */
  readonly most: number;
}

/** The counted patterns. Exported for its test. */
export const patterns: readonly Pattern[] = [
  {
    name: 'defaults for metadata',
    pattern: /\bmetadata[?!]?\.(?:name|namespace|uid|resourceVersion) \?\? ''/g,
    most: 139,
  },
  { name: 'types forced through unknown', pattern: /\bas unknown as\b/g, most: 5 },
  { name: 'types forced through never', pattern: /^(?!\s*(?:\/\/|\/?\*)).*?\bas never\b/gm, most: 14 },
  { name: 'conditional spreads', pattern: /\.\.\.\([^;{}]*?(?:\? \{\s*\} :|&& \{)/g, most: 326 },
];

/** The number of occurrences of each pattern in the sources, by its name. */
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
