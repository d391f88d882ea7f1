/** The state of a whole cluster as a value: everything in the store, the time, and which machines there are. */
import { prefixEnd, type Store } from '../storage/store.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';

/** A snapshot; plain JSON. */
export interface ClusterSnapshot {
  readonly format: 1;
  /** Wall-clock time, milliseconds since the Unix epoch. */
  readonly nowMs: number;
  readonly nodes: readonly SimNodeSpec[];
  /** In the order they were last written. Values are UTF-8 text, as the API server stores JSON. */
  readonly entries: readonly { readonly key: string; readonly value: string }[];
}

/** One entry as the store has it. */
interface Entry {
  readonly key: string;
  readonly value: Uint8Array;
}

/** Reads all entries of the store, in the order they were last written. */
export async function readAll(store: Store): Promise<readonly Entry[]> {
  const { entries } = await store.range({ start: '', end: prefixEnd('') });
  return entries.toSorted((a, b) => a.modRevision - b.modRevision);
}

/** Writes the entries into an empty store. They get new revisions: earlier watches cannot be resumed. */
export async function writeAll(store: Store, entries: readonly Entry[]): Promise<void> {
  for (const { key, value } of entries) await store.put({ key, value, expectRevision: 0 });
}

/** As `readAll`, as text. */
export async function readEntries(store: Store): Promise<ClusterSnapshot['entries']> {
  return (await readAll(store)).map(({ key, value }) => ({ key, value: Buffer.from(value).toString('utf8') }));
}

/** As `writeAll`, of text. */
export async function writeEntries(store: Store, entries: ClusterSnapshot['entries']): Promise<void> {
  await writeAll(
    store,
    entries.map(({ key, value }) => ({ key, value: Buffer.from(value, 'utf8') })),
  );
}
