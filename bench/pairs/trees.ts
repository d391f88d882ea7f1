// Built worktrees of commits, below a temporary directory.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { repositoryRoot } from '../../tools/repository.ts';

const made: { readonly folder: string; readonly tree: string }[] = [];

/** A built tree of the commit; `.` is the checkout with its changes. A tree that an earlier run kept is used unchanged. */
export async function makeTree(ref: string): Promise<string> {
  if (ref.startsWith('/') && existsSync(join(ref, 'dist', 'build.json'))) return ref;
  const commit = ref === '.' ? git('stash', 'create') || git('rev-parse', 'HEAD') : git('rev-parse', `${ref}^{commit}`);
  const folder = mkdtempSync(join(tmpdir(), 'keelson-pairs-'));
  const tree = join(folder, commit.slice(0, 12));
  made.push({ folder, tree });
  git('worktree', 'add', '--detach', tree, commit);
  const lock = (root: string): string => readFileSync(join(root, 'package-lock.json'), 'utf8');
  if (lock(tree) === lock(repositoryRoot))
    symlinkSync(join(repositoryRoot, 'node_modules'), join(tree, 'node_modules'));
  else
    execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: tree, stdio: ['ignore', 2, 2] });
  execFileSync(process.execPath, [join(tree, 'tools', 'build.ts')], { cwd: tree, stdio: ['ignore', 2, 2] });
  return tree;
}

/** Removes the trees of this run. */
export function removeTrees(): void {
  for (const { folder, tree } of made.splice(0)) {
    rmSync(folder, { recursive: true, force: true });
    if (!existsSync(tree)) git('worktree', 'prune');
  }
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: repositoryRoot, encoding: 'utf8', stdio: ['ignore', 'pipe', 2] }).trim();
}
