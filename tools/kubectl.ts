// The kubectl programs that tests run: the fetched one of Keelson's version (`npm test` fetches it) and the machine's.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { findProgram } from './host-files.ts';
import { repositoryRoot } from './repository.ts';

/** A single kubectl: the fetched 1.36, else the machine's. @throws when there is none */
export function kubectlProgram(): string {
  const [first] = kubectlPrograms();
  if (first === undefined) throw new Error('no kubectl: run "npm test", which fetches it');
  return first;
}

/** All available kubectl programs: the fetched one first, then the machine's. */
export function kubectlPrograms(): string[] {
  const fetched = join(repositoryRoot, '.cache/kubectl-1.36/kubectl');
  const own = findProgram('kubectl');
  return [...(existsSync(fetched) ? [fetched] : []), ...(own === undefined ? [] : [own])];
}

/** The helm for tests: the fetched one, else the machine's. @throws when there is none */
export function helmProgram(): string {
  const fetched = join(repositoryRoot, '.cache/kubectl-1.36/helm');
  const program = existsSync(fetched) ? fetched : findProgram('helm');
  if (program === undefined) throw new Error('no helm: run "npm test", which fetches it');
  return program;
}
