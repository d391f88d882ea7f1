/**
 * Copies of a store's file: made from a stopped store, checked, and prepared to be run from. A copy of a running store is
 * the running store's to make (`Store.backup`). Upstream: etcdctl snapshot save, etcdutl snapshot restore.
 */
import { backup, DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store.ts';
import { StoreDatabase } from './database.ts';
import { storeErrorOf } from './errors.ts';
import { makePrivate } from './private-file.ts';

/** The number of revisions skipped after a restore: more than can have been handed out since the copy was made. */
const REVISION_GAP = 1_000_000;

/** bbolt's magic number, which stands in each snapshot of etcd. */
const BOLT_MAGIC = 0xed0cdaed;

export interface BackupContents {
  readonly revision: number;
  readonly keyCount: number;
}

/** Copies the file of a stopped store. Rejects with `StoreError`. */
export async function copyStoreFile(from: string, to: string): Promise<void> {
  let source: DatabaseSync | undefined;
  try {
    source = new DatabaseSync(from, { readOnly: true, timeout: 0 });
    makePrivate(to);
    await backup(source, to);
  } catch (error) {
    throw storeErrorOf(error, `copying ${from}`);
  } finally {
    source?.close();
  }
}

/** Whether a file is a snapshot of etcd, by its first bytes. */
export function isEtcdSnapshot(head: Uint8Array): boolean {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  return head.byteLength >= 20 && view.getUint32(16, true) === BOLT_MAGIC;
}

/** Reads a whole copy and says what is in it. Throws `StoreError`. */
export function checkStoreFile(path: string): BackupContents {
  const database = openDatabase(path);
  try {
    database.checkIntegrity();
    const { revision, keyCount } = database.status();
    return { revision, keyCount };
  } catch (error) {
    throw storeErrorOf(error, `reading ${path}`);
  } finally {
    database.close();
  }
}

/**
 * Makes a copy fit to be run from: its history goes and its revision jumps, so that whoever remembers revisions given out
 * after the copy was made is told that they are gone, and reads again, instead of waiting for them or mistaking others for
 * them.
 */
export function advanceStoreFile(path: string): void {
  const database = openDatabase(path);
  try {
    const { revision } = database.status();
    while (database.compact({ revision }).compactedRevision < revision);
    database.skipTo(revision + REVISION_GAP);
  } catch (error) {
    throw storeErrorOf(error, `preparing ${path}`);
  } finally {
    database.close();
  }
}

function openDatabase(path: string): StoreDatabase {
  try {
    return new StoreDatabase(path);
  } catch (error) {
    if (error instanceof StoreError && error.code === 'unavailable' && /another program/.test(error.message))
      throw new StoreError('corrupt', `${path} is no snapshot of a Keelson store`, { cause: error });
    throw error;
  }
}
