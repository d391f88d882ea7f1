/** Entries, events and writes as they travel between the store and its worker. */
import type { Deferred } from '../../base/deferred.ts';
import type { StoredEntry, StoreEvent, WriteResult } from '../store.ts';
import { pack, unpacker, type WireEntry, type WirePage, type WireWrites } from './protocol.ts';

export interface PendingWrite {
  readonly key: string;
  readonly value: Uint8Array | undefined;
  readonly expectRevision: number | undefined;
  readonly expiresMs: number | undefined;
  readonly deferred: Deferred<WriteResult>;
}

export function toWire(batch: readonly PendingWrite[]): WireWrites {
  const keys: string[] = [];
  const numbers = new Float64Array(batch.length * 3);
  const values: Uint8Array[] = [];
  let at = 0;
  for (const { key, value, expectRevision = -1, expiresMs = -1 } of batch) {
    keys.push(key);
    numbers[at++] = value?.byteLength ?? -1;
    numbers[at++] = expectRevision;
    numbers[at++] = expiresMs;
    if (value !== undefined) values.push(value);
  }
  return { keys, numbers, values: pack(values) };
}

export function endOf(start: string, end: string): string {
  return end === '' ? `${start}\0` : end;
}

export function toEntry(wire: WireEntry, take: (length: number) => Uint8Array): StoredEntry {
  const { key, modRevision, createRevision, length } = wire;
  return { key, value: take(length), modRevision, createRevision };
}

export function entriesOf({ keys, numbers, values }: WirePage): StoredEntry[] {
  const take = unpacker(values);
  return keys.map((key, index) => ({
    key,
    modRevision: numbers[index * 3]!,
    createRevision: numbers[index * 3 + 1]!,
    value: take(numbers[index * 3 + 2]!),
  }));
}

/** Without a value: a deletion. */
export function toEvent(entry: Omit<StoredEntry, 'value'> & { readonly value: Uint8Array | undefined }): StoreEvent {
  const { key, value, modRevision: revision, createRevision } = entry;
  return value === undefined
    ? { type: 'delete', key, revision }
    : { type: 'put', key, revision, value, createRevision };
}
