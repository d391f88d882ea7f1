/** The state of a whole cluster as a value: the content of the store, the time, and the machines. */
import { shareDecoded } from '../apiserver/watch-cache/shared-decoding.ts';
import { prefixEnd, type Store, type StoredEntry } from '../storage/store.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';

/** A snapshot in plain JSON. */
export interface ClusterSnapshot {
  readonly format: 1;
  /** Wall-clock time in milliseconds since 1970. */
  readonly nowMs: number;
  readonly nodes: readonly SimNodeSpec[];
  /** In the order of their last writes. Values are UTF-8 text, as the API server stores JSON. */
  readonly entries: readonly { readonly key: string; readonly value: string }[];
}

const EVENTS_PREFIX = '/registry/events/';

/** One entry of the store. */
export interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
}

/** Reads all entries of the store, in the order of their last writes. */
export async function readAll(store: Store): Promise<readonly StoredEntry[]> {
  const { entries } = await store.range({ start: '', end: prefixEnd('') });
  return entries.toSorted((a, b) => a.modRevision - b.modRevision);
}

/** Writes the entries into an empty store. They get new revisions, so earlier watches cannot be resumed. */
export async function writeAll(store: Store, entries: readonly Entry[]): Promise<void> {
  for (const { key, value } of entries) await store.put({ key, value, expectRevision: 0 });
}

/**
 * Lets the next server over a store with these entries share the objects decoded from them, except events, which are rarely
 * decoded.
 */
export function shareObjects(entries: readonly StoredEntry[]): void {
  for (const entry of entries) if (!entry.key.startsWith(EVENTS_PREFIX)) shareDecoded(entry);
}

/** `readAll` as text. */
export async function readEntries(store: Store): Promise<ClusterSnapshot['entries']> {
  return (await readAll(store)).map(({ key, value }) => ({ key, value: Buffer.from(value).toString('utf8') }));
}

/** The entries of a snapshot as a store has them. */
export function storedEntries(entries: ClusterSnapshot['entries']): Entry[] {
  return entries.map(({ key, value }) => ({ key, value: Buffer.from(value, 'utf8') }));
}
