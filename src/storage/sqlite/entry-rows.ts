/** The rows of the store's tables, and pages of them that are sent to the main thread. */
import type { LiveKey } from './key-index.ts';
import { pack, type WireEntry, type WirePage } from './protocol.ts';

export interface EntryRow {
  readonly key: string;
  readonly revision: number;
  readonly created: number;
  readonly value: Uint8Array | null;
}

export interface EventRow extends EntryRow {
  readonly deleted: number;
}

export interface UndoneRow {
  readonly key: string;
  readonly previous: number;
}

export type ValueRow = [revision: number, key: string, created: number, value: Uint8Array | null];

export type HistoryRow = [revision: number, key: string, deleted: number, created: number, expires: number | null];

const NO_BYTES = new Uint8Array();

/** An empty value comes back as NULL. */
export function toWire(row: EntryRow, values: Uint8Array[]): WireEntry {
  const value = row.value ?? NO_BYTES;
  values.push(value);
  return { key: row.key, modRevision: row.revision, createRevision: row.created, length: value.byteLength };
}

interface ScanPage {
  readonly keys: string[];
  readonly numbers: number[];
  readonly values: Uint8Array[];
  bytes: number;
}

export function createPage(): ScanPage {
  return { keys: [], numbers: [], values: [], bytes: 0 };
}

/** The bytes of all values of the page. */
export function addToPage(page: ScanPage, row: EntryRow): number {
  const value = row.value ?? NO_BYTES;
  page.keys.push(row.key);
  page.numbers.push(row.revision, row.created, value.byteLength);
  page.values.push(value);
  return (page.bytes += value.byteLength);
}

export function wirePage({ keys, numbers, values }: ScanPage): WirePage {
  return { keys, numbers: Float64Array.from(numbers), values: pack(values) };
}

/** The state of a batch while its transaction is open. */
export interface Batch {
  readonly staged: Map<string, LiveKey | undefined>;
  /** The present entries instead of those not written. */
  readonly current: (WireEntry | undefined)[];
  readonly values: Uint8Array[];
  /** The last revision given out. */
  revision: number;
}

export interface Write {
  readonly key: string;
  /** Absent: a deletion. */
  readonly value: Uint8Array | undefined;
  /** Below 0: whatever it is. */
  readonly expectRevision: number;
  /** Below 0: never. */
  readonly expiresMs: number;
}
