/**
 * Snapshots of a cluster's state: saved while it runs (by the process that holds the store) or from a stopped data
 * directory; restored into a stopped one. Upstream: etcdctl snapshot save, etcdutl snapshot restore.
 *
 * Invariants: a file that was there is replaced by a whole snapshot or not at all; what a restore replaces is kept beside.
 */
import { createWriteStream } from 'node:fs';
import { access, copyFile, open, rename, rm } from 'node:fs/promises';
import { basename } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Clock } from '../../platform/clock.ts';
import { StoreError } from '../../storage/store.ts';
import { requestControl } from '../instance/control-client.ts';
import { acquireControlLock } from '../instance/control-socket.ts';
import { restoreOwnEtcd } from '../etcd/own-snapshots.ts';
import { PreflightError } from '../preflight-error.ts';
import { etcdConfig } from './open-store.ts';
import { partialBeside, publish } from './publish-file.ts';
import type { EtcdStoreChoice } from './store-options.ts';

/** The content of a snapshot; undefined where only etcd's tools can read it. */
export interface SnapshotReport {
  readonly revision: number;
  readonly keyCount: number;
}

/** Where the running process puts the copy that it makes for us: only what root can read is written, at a fixed place. */
export function workingCopy(dataDir: string): string {
  return `${dataDir}/state.db.snapshot`;
}

export const storeFile = (dataDir: string): string => `${dataDir}/state.db`;
const historyFile = (dataDir: string): string => `${dataDir}/history.db`;

/** Saves the SQLite store of a data directory, of a running cluster or a stopped one. Rejects with `PreflightError`. */
export async function saveSnapshot(dataDir: string, file: string): Promise<SnapshotReport> {
  return withUserErrors(async () => {
    const copy = workingCopy(dataDir);
    if (!(await savedByRunning(dataDir))) await copyStopped(dataDir, copy);
    try {
      const { checkStoreFile } = await import('../../storage/sqlite/backup.ts');
      const report = checkStoreFile(copy);
      await publish(copy, file);
      return report;
    } finally {
      await removeStore(copy);
    }
  });
}

/** Saves a snapshot of an etcd cluster, as etcdctl does; to be restored by etcd's own tools. Resolves to its size. */
export async function saveEtcdSnapshot(
  deps: { readonly clock: Clock },
  choice: EtcdStoreChoice,
  file: string,
): Promise<number> {
  return withUserErrors(async () => {
    const { readEtcdSnapshot } = await import('../../storage/etcd/snapshot.ts');
    const { readFile, stat } = await import('node:fs/promises');
    const config = await etcdConfig((path) => readFile(path, 'utf8'), choice);
    const partial = partialBeside(file);
    try {
      const bytes = readEtcdSnapshot(deps, config, new AbortController().signal);
      await pipeline(bytes, createWriteStream(partial, { flags: 'wx', mode: 0o600 }));
      await publish(partial, file);
      return (await stat(file)).size;
    } finally {
      await rm(partial, { force: true });
    }
  });
}

/** Puts a snapshot of etcd in the place of a stopped server's own. Rejects with `PreflightError`. */
export async function restoreEtcdSnapshot(
  deps: Parameters<typeof restoreOwnEtcd>[0],
  dataDir: string,
  file: string,
): ReturnType<typeof restoreOwnEtcd> {
  return withUserErrors(async () => {
    const lock = await acquireControlLock(dataDir);
    try {
      return await restoreOwnEtcd(deps, dataDir, file);
    } finally {
      await lock.release();
    }
  });
}

/** Puts a snapshot in the place of a stopped cluster's store, which is kept beside it. Rejects with `PreflightError`. */
export function restoreSnapshot(dataDir: string, file: string): Promise<RestoreReport> {
  return replaceStore(dataDir, async (incoming) => {
    const { isEtcdSnapshot } = await import('../../storage/sqlite/backup.ts');
    if (isEtcdSnapshot(await firstBytes(file)))
      throw new PreflightError(
        `${file} is a snapshot of etcd: stop its members and restore it with etcdutl snapshot restore (etcdctl before 3.5)`,
      );
    await copyFile(file, incoming);
  });
}

export interface RestoreReport extends SnapshotReport {
  readonly keptAs: string | undefined;
}

/**
 * Puts another file in the place of a stopped cluster's store, which is kept beside it. `prepare` makes that file. Rejects
 * with `PreflightError`.
 */
export async function replaceStore(
  dataDir: string,
  prepare: (incoming: string) => Promise<void>,
): Promise<RestoreReport> {
  return withUserErrors(async () => {
    if (!(await exists(dataDir))) throw new PreflightError(`there is no data directory ${dataDir} to restore into`);
    const lock = await acquireControlLock(dataDir);
    try {
      const { advanceStoreFile, checkStoreFile } = await import('../../storage/sqlite/backup.ts');
      const incoming = `${storeFile(dataDir)}.restoring`;
      await removeStore(incoming);
      try {
        await prepare(incoming);
        const report = checkStoreFile(incoming);
        advanceStoreFile(incoming);
        const keptAs = await setAside(storeFile(dataDir));
        await publish(incoming, storeFile(dataDir));
        await setAside(historyFile(dataDir)); // The history is of the objects before the restore.
        return { ...report, keptAs };
      } finally {
        await removeStore(incoming);
      }
    } finally {
      await lock.release();
    }
  });
}

/** Whether a running instance made the working copy; false when none runs. */
async function savedByRunning(dataDir: string): Promise<boolean> {
  const answer = (await requestControl(dataDir, 'snapshot')) as { saved?: boolean; error?: string } | undefined;
  if (answer === undefined) return false;
  if (answer.saved !== true) throw new PreflightError(answer.error ?? 'the running cluster makes no snapshot');
  return true;
}

async function copyStopped(dataDir: string, copy: string): Promise<void> {
  const missing = `there is no cluster in ${dataDir}: ${storeFile(dataDir)} is missing`;
  if (!(await exists(dataDir))) throw new PreflightError(missing);
  const lock = await acquireControlLock(dataDir);
  try {
    const from = storeFile(dataDir);
    if (!(await exists(from))) throw new PreflightError(missing);
    const { copyStoreFile } = await import('../../storage/sqlite/backup.ts');
    await removeStore(copy);
    await copyStoreFile(from, copy);
  } finally {
    await lock.release();
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function firstBytes(path: string): Promise<Uint8Array> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(new Uint8Array(64), 0, 64, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}

/** Renames a store and its log to unused names. */
export async function setAside(path: string, why = 'before-restore'): Promise<string | undefined> {
  if (!(await exists(path))) return undefined;
  let number = 1;
  while (await exists(`${path}.${why}-${number}`)) number++;
  const keptPath = `${path}.${why}-${number}`;
  for (const suffix of ['-wal', '-shm', ''])
    if (await exists(path + suffix)) await rename(path + suffix, keptPath + suffix);
  return basename(keptPath);
}

async function removeStore(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm']) await rm(path + suffix, { force: true });
}

/** Rejects with `PreflightError` for what the store or the file system refuses. */
export async function withUserErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof StoreError || (typeof code === 'string' && code.startsWith('E')))
      throw new PreflightError(message);
    throw error;
  }
}
