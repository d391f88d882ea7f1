/**
 * The messages between the store and its worker. Values are packed into one transferred buffer per message, since
 * cloning a small view would copy its whole pool. Only types and packing.
 */
import type { LogPart, LogStart } from '../change-log.ts';
import type { StoreError } from '../store.ts';

/** Writes in columns, since few objects are fast to clone. */
export interface WireWrites {
  readonly keys: readonly string[];
  /**
   * For each write: the length of its value in the packed buffer, the revision the key must have, and the wall-clock
   * milliseconds at which it goes away; -1 stands for a deletion, any revision, never.
   */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly values: Uint8Array<ArrayBuffer>;
}

/** An entry; its value is the next `length` bytes of the packed buffer. */
export interface WireEntry {
  readonly key: string;
  readonly modRevision: number;
  readonly createRevision: number;
  readonly length: number;
}

export interface WireOutcomes {
  /**
   * For each write: its revision and the key's creation revision; 0 when the compare failed or there was nothing to
   * delete.
   */
  readonly revisions: Float64Array<ArrayBuffer>;
  /** The current entry for each write without a revision. */
  readonly current: readonly (WireEntry | undefined)[];
  readonly values: Uint8Array<ArrayBuffer>;
}

export interface WireEvent {
  readonly type: 'put' | 'delete';
  readonly entry: WireEntry;
}

/** A key with a time to live, as found when opening. */
export interface WireExpiry {
  readonly key: string;
  readonly revision: number;
  readonly expiresMs: number;
}

/** A range of keys, `end` exclusive. */
export interface WireRange {
  readonly start: string;
  readonly end: string;
}

/** A part of a scan in columns, since few objects are fast to clone. */
export interface WirePage {
  readonly keys: readonly string[];
  /** For each entry: revision, creation revision, and length of the value. */
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly values: Uint8Array<ArrayBuffer>;
}

export interface WireRequests {
  open: {
    request: { readonly path: string; readonly resumesLog: boolean };
    answer: { revision: number; compactedRevision: number; expiries: WireExpiry[] };
  };
  /** `timeMs`: the time of the call, for the change log. */
  write: { request: WireWrites & { readonly timeMs: number }; answer: WireOutcomes };
  range: {
    request: WireRange & { readonly limit: number; readonly revision: number | undefined };
    answer: { entries: WireEntry[]; values: Uint8Array; count: number; revision: number };
  };
  /** Everything in a range, in parts (`WirePage`) before the result, at the reader's pace (`scan-pace.ts`). */
  scan: { request: WireRange & { readonly taken: Int32Array<SharedArrayBuffer> }; answer: { revision: number } };
  events: {
    request: WireRange & { readonly afterRevision: number };
    answer: { events: WireEvent[]; values: Uint8Array; revision: number };
  };
  compact: { request: { readonly revision: number }; answer: { compactedRevision: number } };
  beginLog: { request: { readonly newIdentity: string; readonly nowMs: number }; answer: LogStart };
  readLog: { request: { readonly after: number; readonly maxBytes: number }; answer: { part: LogPart | undefined } };
  /** One step of returning free pages to the file system; `isDone`: no further one is useful. */
  shrink: { request: object; answer: { isDone: boolean } };
  status: {
    request: object;
    answer: { revision: number; compactedRevision: number; sizeBytes: number; keyCount: number };
  };
  /** Answered when the copy is complete; other requests are answered meanwhile. */
  backup: { request: { readonly path: string }; answer: object };
  close: { request: object; answer: object };
}

/** Names of what can be asked. */
export type WireOperation = keyof WireRequests;

/** A numbered request. */
export type WireCall = {
  [Op in WireOperation]: { readonly id: number; readonly op: Op; readonly request: WireRequests[Op]['request'] };
}[WireOperation];

/** The result of the request with the number. */
export type WireReply =
  | { readonly id: number; readonly answer: object }
  /** A part; further ones follow. */
  | { readonly id: number; readonly page: WirePage }
  | { readonly id: number; readonly error: { readonly code: StoreError['code']; readonly message: string } };

/** Joins values into one buffer. */
export function pack(values: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  let total = 0;
  for (const value of values) total += value.byteLength;
  const packed = new Uint8Array(total);
  let at = 0;
  for (const value of values) {
    packed.set(value, at);
    at += value.byteLength;
  }
  return packed;
}

/**
 * Takes values off a packed buffer one after the other, as copies, so that an entry does not keep the whole buffer in
 * memory.
 */
export function unpacker(packed: Uint8Array): (length: number) => Uint8Array {
  let at = 0;
  return (length) => packed.slice(at, (at += length));
}
