/**
 * Copies of a store's file: copying a stopped store, checking a copy, and preparing it for use. A running store
 * copies itself (`Store.backup`). Upstream: etcdctl snapshot save, etcdutl snapshot restore.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StoreError } from '../store.ts';
import { StoreDatabase } from './database.ts';
import { storeErrorOf } from './errors.ts';
import { makePrivate } from './private-file.ts';
import { copyWhole } from './whole-copy.ts';

/** The number of revisions skipped after a restore: more than can have been used since the copy was made. */
const REVISION_GAP = 1_000_000;

/** bbolt's magic number, which etcd's snapshots contain. */
const BOLT_MAGIC = 0xed0cdaed;

/** Where SQLite's header has the application's mark. */
const APPLICATION_ID_AT = 68;

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
    await copyWhole(source, to);
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

/** Reads a whole copy and returns its summary. Throws `StoreError`. */
export function checkStoreFile(path: string): BackupContents {
  refuseEmpty(path);
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
 * Prepares a copy for use: drops its history and advances its revision. Clients that remember revisions from after
 * the copy are then told that these are gone, and read again, instead of waiting for them or confusing them with new
 * ones.
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

/** Creates an empty store whose next change gets a revision above this one. Throws `StoreError`. */
export function createStoreFile(path: string, revision: number): void {
  const database = openDatabase(path);
  try {
    database.skipTo(revision);
  } catch (error) {
    throw storeErrorOf(error, `making ${path}`);
  } finally {
    database.close();
  }
}

/** A file of no bytes, as a cut copy is, or without tables would open as a store without objects. */
function refuseEmpty(path: string): void {
  const file = openSync(path, 'r');
  try {
    const head = Buffer.alloc(APPLICATION_ID_AT + 4);
    readSync(file, head, 0, head.length, 0);
    if (head.readUInt32BE(APPLICATION_ID_AT) === 0)
      throw new StoreError('corrupt', `${path} is no snapshot of a Keelson store`);
  } finally {
    closeSync(file);
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
