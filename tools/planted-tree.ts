// A temporary checkout for tests of the tools: planted files beside this checkout's dependencies.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { repositoryRoot } from './repository.ts';

/** A folder that is removed at the end of its scope (`using`). */
export interface PlantedTree {
  readonly root: string;
  /** Writes one more file, or replaces its content. */
  write(path: string, text: string): void;
  [Symbol.dispose](): void;
}

/** Creates a folder with the given files (by relative path) and a link to this checkout's node_modules. */
export function plantTree(files: Readonly<Record<string, string>>): PlantedTree {
  const root = mkdtempSync(join(tmpdir(), 'keelson-planted-'));
  symlinkSync(join(repositoryRoot, 'node_modules'), join(root, 'node_modules'));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  for (const [path, text] of Object.entries(files)) write(path, text);
  return { root, write, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
}
