// Writes the declarations of `keelson/testing`, for packages that import it, into dist/types, by the compiler from the sources.
// Only files reachable from its entries are kept. `npm run build` calls this; starting Keelson does not, because it needs no
// types.
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The targets of package.json's `exports`, relative to the types' folder. */
export const TYPES_ENTRIES = ['testing/index.d.ts', 'testing/runners/vitest.d.ts', 'testing/runners/jest.d.ts'];

/**
 * Replaces the content of `folder` by the declarations of the checkout at `root`.
 * @returns the number of files
 * @throws Error with the compiler's messages
 */
export function emitTypes(root: string, folder: string): number {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const compiler = join(root, 'node_modules/typescript7/bin/tsc');
  try {
    execFileSync(process.execPath, [compiler, '-p', join(root, 'tsconfig.types.json'), '--outDir', folder], {
      encoding: 'utf8',
      stdio: 'pipe',
    });
  } catch (error) {
    throw new Error(`types: ${(error as { stdout?: string }).stdout ?? (error as Error).message}`, { cause: error });
  }
  const needed = reachable(TYPES_ENTRIES.map((entry) => join(folder, entry)));
  for (const name of globSync('**/*.d.ts', { cwd: folder })) {
    const path = join(folder, name);
    if (!needed.has(path)) rmSync(path);
  }
  return needed.size;
}

/** The files and all files that they import, directly or indirectly. */
function reachable(entries: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [...entries];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    for (const [, relative = ''] of readFileSync(path, 'utf8').matchAll(
      /(?:from |import\()['"](\.{1,2}\/[^'"]+)\.ts['"]/g,
    ))
      waiting.push(`${resolve(dirname(path), relative)}.d.ts`);
  }
  return found;
}
