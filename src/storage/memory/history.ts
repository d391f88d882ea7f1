/** The versions of every key, and the changes in revision order, since the last compaction. */
import { SortedKeys } from '../../base/sorted-keys.ts';
import { compareKeys } from '../key-order.ts';
import type { StoredEntry, StoreEvent } from '../store.ts';

/** A version that marks the key as deleted at this revision. */
interface Tombstone {
  readonly modRevision: number;
  readonly value?: undefined;
}

type Version = StoredEntry | Tombstone;

/** A single version is stored without an array, as most keys have one after a compaction. */
type Versions = Version | Version[];

function entryOf(version: Version | undefined): StoredEntry | undefined {
  return version?.value === undefined ? undefined : version;
}

/** Multi-version key-value data. */
export class History {
  revision = 1;
  compactedRevision = 0;
  sizeBytes = 0;
  liveKeys = 0;
  readonly #keys = new SortedKeys(compareKeys);
  readonly #versions = new Map<string, Versions>();
  /** Event i has revision `#firstRevision + i`, as every revision is one change. */
  #events: StoreEvent[] = [];

  /** Changes since the last compaction. */
  get changes(): number {
    return this.#events.length;
  }

  /** The newest entry of the key. */
  latest(key: string): StoredEntry | undefined {
    const versions = this.#versions.get(key);
    return entryOf(Array.isArray(versions) ? versions.at(-1) : versions);
  }

  at(key: string, revision: number): StoredEntry | undefined {
    const versions = this.#versions.get(key);
    if (Array.isArray(versions)) return entryOf(versions.findLast((version) => version.modRevision <= revision));
    return versions === undefined || versions.modRevision > revision ? undefined : entryOf(versions);
  }

  /** Keys in [start, end) that have any version, in byte order. */
  keys(start: string, end: string): Iterable<string> {
    return end === '' ? [start] : this.#keys.range(start, end);
  }

  /** Writes (or without a value, deletes) at the next revision. */
  apply(key: string, value: Uint8Array | undefined): StoreEvent {
    const previous = this.latest(key);
    const revision = ++this.revision;
    const createRevision = previous?.createRevision ?? revision;
    const entry = value === undefined ? undefined : { key, value, modRevision: revision, createRevision };
    this.#append(key, entry ?? { modRevision: revision });
    this.liveKeys += (entry === undefined ? 0 : 1) - (previous === undefined ? 0 : 1);
    const event: StoreEvent =
      value === undefined ? { type: 'delete', key, revision } : { type: 'put', key, revision, value, createRevision };
    this.#events.push(event);
    return event;
  }

  /** Changes in [start, end) after a revision. */
  eventsAfter(revision: number, inRange: (key: string) => boolean): StoreEvent[] {
    const skip = Math.max(0, revision - this.#eventsBase());
    return this.#events.slice(skip).filter((event) => inRange(event.key));
  }

  /** Drops what only reads before `revision` need. */
  compact(revision: number): void {
    const count = revision - this.#eventsBase();
    const dropped = this.#events.slice(0, count);
    this.#events = this.#events.slice(count);
    this.compactedRevision = revision;
    for (const key of new Set(dropped.map((event) => event.key))) this.#compactKey(key, revision);
  }

  /** The revision before the first kept event. */
  #eventsBase(): number {
    return this.revision - this.#events.length;
  }

  #append(key: string, version: Version): void {
    const versions = this.#versions.get(key);
    if (versions === undefined) {
      this.#versions.set(key, version);
      this.#keys.add(key);
    } else if (Array.isArray(versions)) {
      versions.push(version);
    } else {
      this.#versions.set(key, [versions, version]);
    }
    this.sizeBytes += sizeOf(key, version);
  }

  #compactKey(key: string, revision: number): void {
    const found = this.#versions.get(key);
    if (found === undefined) return;
    const versions = Array.isArray(found) ? found : [found];
    const lastKept = versions.findLastIndex((version) => version.modRevision <= revision);
    const from = lastKept >= 0 && versions[lastKept]!.value === undefined ? lastKept + 1 : Math.max(0, lastKept);
    for (const version of versions.slice(0, from)) this.sizeBytes -= sizeOf(key, version);
    const remaining = versions.slice(from);
    if (remaining.length > 0) {
      this.#versions.set(key, remaining.length === 1 ? remaining[0]! : remaining);
      return;
    }
    this.#versions.delete(key);
    this.#keys.delete(key);
  }
}

function sizeOf(key: string, version: Version): number {
  return key.length + (version.value?.byteLength ?? 0);
}
