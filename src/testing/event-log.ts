/**
 * All changes of the stored state as one running hash and, optionally, line by line. Two runs with the same seed are identical
 * exactly when their hashes are equal.
 */
import type { Clock } from '../platform/clock.ts';
import { prefixEnd, type Store, type StoreEvent } from '../storage/store.ts';

/** The log of one store. */
export interface EventLog {
  /** The hash of all changes so far, with times and contents. */
  hash(): string;
  /** The number of changes so far. */
  count(): number;
  /** Changes so far by resource: `pods`, `events`, `leases` … */
  byResource(): ReadonlyMap<string, number>;
  /** The last revision of the store that was processed. */
  revision(): number;
  /** The changes after a revision, with the state before each; rejects when the store has compacted them. */
  changesAfter(revision: number): Promise<readonly StoreChange[]>;
  /** `12.345 17 put /registry/pods/default/web 1c0ffee` for each change; empty unless lines are kept. */
  readonly lines: readonly string[];
  stop(): void;
}

/** One change. The value before it is absent for a new key. */
export interface StoreChange {
  readonly key: string;
  readonly revision: number;
  readonly before: Uint8Array | undefined;
  readonly after: Uint8Array | undefined;
}

/** The part of a log that tests see; lines only when they are kept. */
export interface EventLogSummary {
  readonly hash: string;
  readonly count: number;
  readonly byResource: ReadonlyMap<string, number>;
  readonly lines: readonly string[];
  readonly revision: number;
  readonly changesAfter: EventLog['changesAfter'];
}

/** The current hash and counts; `lines` keeps growing. */
export function summaryOf(log: EventLog): EventLogSummary {
  const counts = { count: log.count(), byResource: new Map(log.byResource()), revision: log.revision() };
  return { hash: log.hash(), ...counts, lines: log.lines, changesAfter: (revision) => log.changesAfter(revision) };
}

/** Follows a store from its beginning. */
export function createEventLog(store: Store, clock: Clock, options: { readonly keepLines: boolean }): EventLog {
  const hash = createHash53();
  const lines: string[] = [];
  const resources = new Map<string, number>();
  let count = 0;
  let seen = 0;
  const startMs = clock.monotonicMs();
  const note = (event: StoreEvent): void => {
    count++;
    seen = event.revision;
    const resource = resourceOf(event.key);
    resources.set(resource, (resources.get(resource) ?? 0) + 1);
    const head = `${((clock.monotonicMs() - startMs) / 1000).toFixed(3)} ${event.revision} ${event.type} ${event.key}`;
    hash.addText(head);
    if (event.value !== undefined) hash.addBytes(event.value);
    if (options.keepLines) lines.push(`${head} ${hash.digest()}`);
  };
  const watch = store.watch(
    { start: '', end: prefixEnd(''), afterRevision: 0 },
    { onEvents: (events) => events.forEach(note), onError: () => undefined },
  );
  return {
    hash: () => hash.digest(),
    count: () => count,
    byResource: () => resources,
    revision: () => seen,
    changesAfter: (revision) => changesAfter(store, revision, seen),
    lines,
    stop: () => watch.stop(),
  };
}

async function changesAfter(store: Store, revision: number, until: number): Promise<StoreChange[]> {
  const events = revision >= until ? [] : await eventsAfter(store, revision, until);
  return await Promise.all(
    events.map(async ({ key, revision: changedAt, value }) => {
      const { entries } = await store.range({ start: key, end: '', revision: changedAt - 1 });
      return { key, revision: changedAt, before: entries[0]?.value, after: value };
    }),
  );
}

function eventsAfter(store: Store, afterRevision: number, until: number): Promise<StoreEvent[]> {
  return new Promise((resolve, reject) => {
    const events: StoreEvent[] = [];
    const watch = store.watch(
      { start: '', end: prefixEnd(''), afterRevision },
      {
        onEvents(found, revision) {
          for (const event of found) if (event.revision <= until) events.push(event);
          if (revision < until) return;
          watch.stop();
          resolve(events);
        },
        onError: reject,
      },
    );
  });
}

/** The resource of a key: `pods` for `/registry/pods/default/web`. */
export function resourceOf(key: string): string {
  const start = key.indexOf('/', 1) + 1;
  const end = key.indexOf('/', start);
  return end < 0 ? key : key.slice(start, end);
}

/**
 * A running hash of 53 bits, which is fast in JavaScript and not cryptographic. It consumes four bytes at a time. Its state is
 * kept in local variables during the loop, because a captured variable beyond the range of small integers allocates at each step.
 */
function createHash53(): { addText(text: string): void; addBytes(bytes: Uint8Array): void; digest(): string } {
  const state = new Int32Array([0xdeadbeef | 0, 0x41c6ce57]);
  return {
    addText(text) {
      let [high, low] = [state[0]!, state[1]!];
      for (let index = 0; index < text.length; index++) {
        const value = text.charCodeAt(index);
        high = Math.imul(high ^ value, HIGH_FACTOR);
        low = Math.imul(low ^ value, LOW_FACTOR);
      }
      state[0] = high;
      state[1] = low;
    },
    addBytes(bytes) {
      let [high, low] = [state[0]!, state[1]!];
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      const whole = bytes.byteLength & ~3;
      for (let index = 0; index < whole; index += 4) {
        const value = view.getInt32(index, true);
        // Shifts the product's upper half down; otherwise the upper bytes of a word would not affect the lower ones of the hash.
        high = Math.imul(high ^ value ^ (high >>> 15), HIGH_FACTOR);
        low = Math.imul(low ^ value ^ (low >>> 13), LOW_FACTOR);
      }
      for (let index = whole; index < bytes.byteLength; index++) {
        high = Math.imul(high ^ bytes[index]!, HIGH_FACTOR);
        low = Math.imul(low ^ bytes[index]!, LOW_FACTOR);
      }
      state[0] = high;
      state[1] = low;
    },
    digest() {
      const [high, low] = [state[0]!, state[1]!];
      const a = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
      const b = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
      return (4_294_967_296 * (2_097_151 & b) + (a >>> 0)).toString(16).padStart(14, '0');
    },
  };
}

const HIGH_FACTOR = 2_654_435_761;
const LOW_FACTOR = 1_597_334_677;
