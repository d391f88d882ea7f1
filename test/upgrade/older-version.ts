/** An older version of Keelson, built from the history of this checkout into its .cache. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../tools/repository.ts';

/** The commit whose version is started, unless KEELSON_UPGRADE_FROM names another. */
const DEFAULT_COMMIT = '7599bb83';

const commit = process.env['KEELSON_UPGRADE_FROM'] ?? DEFAULT_COMMIT;
const folder = join(repositoryRoot, `.cache/older-${commit}`);

/** The reason why it is unavailable here, or false. */
export function withoutOlder(): string | false {
  if (existsSync(join(folder, 'dist'))) return false;
  try {
    execFileSync('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: repositoryRoot, stdio: 'ignore' });
    return false;
  } catch {
    return `the history of this checkout has no commit ${commit}`;
  }
}

/** Its `bin/keelson`; built at the first call. */
export function olderProgram(): string {
  if (!existsSync(join(folder, 'dist'))) {
    const making = `${folder}.making`;
    rmSync(making, { recursive: true, force: true });
    mkdirSync(making, { recursive: true });
    const archive = execFileSync('git', ['archive', commit], { cwd: repositoryRoot, maxBuffer: 1 << 30 });
    execFileSync('tar', ['x', '-C', making], { input: archive });
    const build = ['tools/bootstrap.mjs', '--for', 'unit', '--', 'node', 'tools/build.ts'];
    execFileSync(process.execPath, build, { cwd: making, stdio: 'inherit' });
    renameSync(making, folder);
  }
  return join(folder, 'bin/keelson');
}
