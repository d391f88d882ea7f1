/** Reads a SQLite snapshot from a temporary copy, so that the file stays unchanged. */
import { copyFile, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../../platform/clock.ts';
import { checkStoreFile, isEtcdSnapshot } from '../../../storage/sqlite/backup.ts';
import { createSqliteStore } from '../../../storage/sqlite/sqlite-store.ts';
import { scanStore } from '../../../storage/scan-store.ts';
import { prefixEnd, type StoredEntry } from '../../../storage/store.ts';
import { PreflightError } from '../../preflight-error.ts';

export interface SnapshotContent {
  readonly revision: number;
  /** In the order in which they were written. */
  readonly entries: readonly StoredEntry[];
}

const HEAD_BYTES = 64;

/**
 * Checks and reads the whole file. Rejects with `StoreError` for a damaged file, with `PreflightError` for a snapshot
 * of etcd.
 */
export async function readSnapshot(deps: { readonly clock: Clock }, file: string): Promise<SnapshotContent> {
  await refuseEtcd(file);
  const folder = await mkdtemp(join(tmpdir(), 'keelson-verify-'));
  try {
    const path = join(folder, 'state.db');
    await copyFile(file, path);
    const { revision } = checkStoreFile(path);
    const store = await createSqliteStore({ path, platform: deps });
    const entries: StoredEntry[] = [];
    try {
      await scanStore(store, { start: '/', end: prefixEnd('/') }, (page) => {
        for (const entry of page.entries) entries.push(entry);
      });
    } finally {
      await store.close();
    }
    return { revision, entries: entries.toSorted((one, other) => one.modRevision - other.modRevision) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function refuseEtcd(file: string): Promise<void> {
  const handle = await open(file, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(new Uint8Array(HEAD_BYTES), 0, HEAD_BYTES, 0);
    if (isEtcdSnapshot(buffer.subarray(0, bytesRead)))
      throw new PreflightError(`${file} is a snapshot of etcd: etcdutl snapshot status checks it`);
  } finally {
    await handle.close();
  }
}
