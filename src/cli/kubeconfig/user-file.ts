/**
 * The user's own kubeconfig: which file it is, and changing it as kubectl does: under `FILE.lock`, atomically, mode
 * 0600.
 */
import { existsSync, realpathSync, statSync } from 'node:fs';
import { chmod, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasErrorCode, ignoreMissingFile } from '../../base/errors.ts';

const LOCK_TRIES = 40;
const LOCK_RETRY_MS = 50;

/** The first file of KUBECONFIG that is no cluster's own, else `~/.kube/config`. */
export function userKubeconfig(env: NodeJS.ProcessEnv = process.env): string {
  const named = (env['KUBECONFIG'] ?? '').split(':').filter((path) => path !== '');
  const own = (path: string): boolean =>
    basename(path) === 'admin.kubeconfig' || existsSync(join(dirname(resolve(path)), 'instance.json'));
  const [first] = named.filter((path) => !own(path));
  return first === undefined ? join(env['HOME'] || homedir(), '.kube/config') : resolve(first);
}

/** Changes the file under its lock; a missing one is created. Rejects with the reason when it cannot be changed. */
export async function changeKubeconfig(
  path: string,
  change: (text: string) => string,
  mode: number | undefined,
): Promise<boolean> {
  await makeFolder(dirname(path));
  const real = existsSync(path) ? realpathSync(path) : path;
  checkOwner(dirname(real));
  const unlock = await lock(real);
  try {
    const before = await readFile(real, 'utf8').catch(ignoreMissingFile);
    const after = change(before ?? '');
    if (after === (before ?? '')) {
      if (mode !== undefined && before !== undefined) await chmod(real, mode);
      return false;
    }
    await replace(real, after, mode ?? 0o600);
    return true;
  } finally {
    await unlock();
  }
}

async function makeFolder(folder: string): Promise<void> {
  let above = folder;
  while (!existsSync(above)) above = dirname(above);
  checkOwner(above);
  await mkdir(folder, { recursive: true, mode: 0o750 });
}

/** Refuses a folder of another user, who could redirect the write or replace the file. */
function checkOwner(folder: string): void {
  const { uid } = statSync(folder);
  if (process.geteuid !== undefined && uid !== process.geteuid())
    throw new Error(`${folder} belongs to the user with id ${uid}`);
}

/** Locks as client-go does: by a file that only one process can create. */
async function lock(path: string): Promise<() => Promise<void>> {
  const file = `${path}.lock`;
  for (let tries = 0; ; tries++) {
    try {
      await (await open(file, 'wx', 0)).close();
      return () => rm(file, { force: true });
    } catch (error) {
      if (!hasErrorCode(error, 'EEXIST')) throw error;
      if (tries >= LOCK_TRIES)
        throw new Error(`${file} is there: kubectl or a tool is changing it, or was ended; remove it`);
      await sleep(LOCK_RETRY_MS);
    }
  }
}

async function replace(path: string, text: string, mode: number): Promise<void> {
  const partial = join(dirname(path), `.${basename(path)}.tmp-${process.pid}`);
  try {
    const handle = await open(partial, 'wx', mode);
    try {
      await handle.chmod(mode); // regardless of the umask
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
