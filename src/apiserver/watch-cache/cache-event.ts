/** A change as the watch cache hands it on, and the ring that remembers changes for watches that resume. */
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
  /** Encoded forms, shared by all watchers while the change is handed out; dropped afterwards. */
  frames: Map<string, Uint8Array> | undefined;
}

/** Changes stay at least this long (upstream: 75 s) unless there are too many. */
const KEEP_MS = 75_000;
/** This many changes stay whatever their age while they are small: 256 definitions of custom resources are 100 MB. */
const KEEP_COUNT = 256;
const KEEP_BYTES = 2 * 1024 * 1024;
const MAX_COUNT = 20_000;
/** Beyond this the oldest go whatever their age. A state counts as the new one of its change and as the previous of the next. */
const MAX_BYTES = 128 * 1024 * 1024;

/** Changes of one resource in revision order; the oldest fall out. */
export class EventRing {
  #events: CacheEvent[] = [];
  /** Size of each change in bytes. */
  #sizes: number[] = [];
  #bytes = 0;
  #head = 0;
  /** Everything after this revision is remembered. */
  #since: number;

  constructor(since: number) {
    this.#since = since;
  }

  /** The revision after which nothing is missing. */
  get since(): number {
    return this.#since;
  }

  /** What the changes hold. */
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

  /** Drops old changes. Without this, those of a burst would stay until the next change. */
  forget(nowMs: number): void {
    for (let held = this.#events.length - this.#head; held > 0; held--) {
      if (held <= KEEP_COUNT && this.#bytes <= KEEP_BYTES) break;
      const oldest = this.#events[this.#head]!;
      if (held <= MAX_COUNT && nowMs - oldest.atMs < KEEP_MS) break;
      this.#dropOldest();
    }
    this.#trim();
  }

  /** Drops the oldest changes, this many bytes or all there are. */
  forgetBytes(bytes: number): void {
    const mostBytes = this.#bytes - bytes;
    while (this.#head < this.#events.length && this.#bytes > mostBytes) this.#dropOldest();
    this.#trim();
  }

  #dropOldest(): void {
    this.#bytes -= this.#sizes[this.#head]!;
    this.#since = this.#events[this.#head]!.revision;
    this.#events[this.#head++] = undefined as unknown as CacheEvent;
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
    return this.#events.slice(low);
  }
}
