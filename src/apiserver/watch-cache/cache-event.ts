/** A change in the watch cache, and the ring that keeps changes for watches that resume. */
import type { RevisionCell } from './revision-cell.ts';

/** One change of one object. */
export interface CacheEvent {
  readonly key: string;
  readonly revision: number;
  /** The new state; for a deletion the last state under the deletion's revision. */
  readonly cell: RevisionCell;
  /** The previous state; absent when the object is new. */
  readonly previous: RevisionCell | undefined;
  readonly deleted: boolean;
  readonly atMs: number;
  /** Encoded forms, shared by all watchers while the change is dispatched; dropped afterwards. */
  frames: Map<string, Uint8Array> | undefined;
}

/** Changes are kept at least this long (upstream: 75 s) unless there are too many. */
const KEEP_MS = 75_000;
/**
 * Up to this many small changes are kept whatever their age. Large ones are not: 256 custom resource definitions take
 * 100 MB.
 */
const KEEP_COUNT = 256;
const KEEP_BYTES = 2 * 1024 * 1024;
const MAX_COUNT = 20_000;
/**
 * Above this the oldest are dropped whatever their age. A state counts as the new one of its change and as the
 * previous one of the next.
 */
const MAX_BYTES = 128 * 1024 * 1024;

/** Changes of one resource in revision order; the oldest are dropped. */
export class EventRing {
  #events: (CacheEvent | undefined)[] = [];
  /** Size of each change in bytes. */
  #sizes: number[] = [];
  #bytes = 0;
  #head = 0;
  /** Every change after this revision is kept. */
  #since: number;

  constructor(since: number) {
    this.#since = since;
  }

  /** The revision after which every change is kept. */
  get since(): number {
    return this.#since;
  }

  /** The bytes that the changes hold. */
  get bytes(): number {
    return this.#bytes;
  }

  push(event: CacheEvent): void {
    const size = event.cell.byteLength + (event.previous?.byteLength ?? 0);
    this.#events.push(event);
    this.#sizes.push(size);
    this.#bytes += size;
    this.forget(event.atMs);
    if (this.#bytes > MAX_BYTES) this.forgetBytes(this.#bytes - MAX_BYTES);
  }

  /** Drops old changes, which would otherwise stay until the next change. */
  forget(nowMs: number): void {
    for (let held = this.#events.length - this.#head; held > 0; held--) {
      if (held <= KEEP_COUNT && this.#bytes <= KEEP_BYTES) break;
      const oldest = this.#events[this.#head]!;
      if (held <= MAX_COUNT && nowMs - oldest.atMs < KEEP_MS) break;
      this.#dropOldest();
    }
    this.#trim();
  }

  /** Drops the oldest changes until this many bytes are freed. */
  forgetBytes(bytes: number): void {
    const mostBytes = this.#bytes - bytes;
    while (this.#head < this.#events.length && this.#bytes > mostBytes) this.#dropOldest();
    this.#trim();
  }

  #dropOldest(): void {
    this.#bytes -= this.#sizes[this.#head]!;
    this.#since = this.#events[this.#head]!.revision;
    this.#events[this.#head++] = undefined;
  }

  #trim(): void {
    if (this.#head <= 1024 || this.#head * 2 <= this.#events.length) return;
    this.#events = this.#events.slice(this.#head);
    this.#sizes = this.#sizes.slice(this.#head);
    this.#head = 0;
  }

  /** Changes after `revision`, or undefined when some of them were dropped. */
  after(revision: number): CacheEvent[] | undefined {
    if (revision < this.#since) return undefined;
    let low = this.#head;
    let high = this.#events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#events[middle]!.revision <= revision) low = middle + 1;
      else high = middle;
    }
    return this.#events.slice(low) as CacheEvent[];
  }
}
