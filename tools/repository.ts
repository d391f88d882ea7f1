// The path of this checkout, and whether a tool was started or imported.
import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The absolute path of the checkout. */
export const repositoryRoot = dirname(dirname(fileURLToPath(import.meta.url)));

/** Whether the module with this `import.meta.url` is the program that was started. */
export function isMain(moduleUrl: string): boolean {
  const program = process.argv[1];
  return program !== undefined && realpathSync(program) === fileURLToPath(moduleUrl);
}
