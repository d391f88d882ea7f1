// Installs the npm dependencies when they differ from package-lock.json. The lock file's hash is recorded in
// node_modules/.keelson-lock. A tree that a user installed counts too when npm's own record of it agrees with the lock file. A
// node_modules that is a symbolic link belongs to another checkout and is never changed.
import { createHash } from 'node:crypto';
import { lstatSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { npmCommand } from './node.mjs';
import { SetupError, runProgram } from './phases.mjs';

const recordName = '.keelson-lock';

/** The hash under which an installed tree is recorded. */
export function lockHash(lockText) {
  return createHash('sha256').update(lockText).digest('hex');
}

/**
 * Whether an installed tree matches the lock file: every locked package is present in its version, an optional one (for another
 * platform) may be absent, and there are no others.
 * @param {{ packages: Record<string, { version?: string, optional?: boolean }> }} lock package-lock.json
 * @param {{ packages: Record<string, { version?: string }> }} installed node_modules/.package-lock.json
 */
export function treeMatchesLock(lock, installed) {
  for (const [path, wanted] of Object.entries(lock.packages)) {
    if (path === '') continue;
    const present = installed.packages[path];
    if (present ? present.version !== wanted.version : !wanted.optional) return false;
  }
  return Object.keys(installed.packages).every((path) => Object.hasOwn(lock.packages, path));
}

/** The state of a checkout's dependencies: 'ready', 'unrecorded' (the record is missing) or 'stale' (an install is needed). */
export function dependencyState(root) {
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8');
  const modules = join(root, 'node_modules');
  const stat = lstatSync(modules, { throwIfNoEntry: false });
  if (!stat) return 'stale';
  if (stat.isSymbolicLink() || readOrEmpty(join(modules, recordName)).trim() === lockHash(lockText)) return 'ready';
  const installedText = readOrEmpty(join(modules, '.package-lock.json'));
  return installedText !== '' && treeMatchesLock(JSON.parse(lockText), JSON.parse(installedText))
    ? 'unrecorded'
    : 'stale';
}

/** Installs the packages of package-lock.json with the given Node; returns what was done ('' for nothing). */
export async function ensureDependencies({ root, node, progress }) {
  const state = dependencyState(root);
  if (state === 'ready') return '';
  if (state === 'stale') {
    progress('installing (npm ci)');
    const [program, ...args] = npmCommand(node);
    const env = { ...process.env, PATH: `${dirname(node)}:${process.env.PATH}` };
    const options = ['--ignore-scripts', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
    await runProgram(program, [...args, 'ci', ...options], { cwd: root, env });
  }
  const hash = lockHash(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  await writeFile(join(root, 'node_modules', recordName), `${hash}\n`).catch((error) => {
    throw new SetupError(`cannot record the installed dependencies: ${error.message}`);
  });
  return state === 'stale' ? 'installed' : '';
}

function readOrEmpty(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}
