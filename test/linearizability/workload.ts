/** Clients that read, list, compare-and-swap and watch a few keys as fast as they can, and record the results. */
import type { Random } from '../../src/platform/random.ts';
import { prefixEnd, type Store, type StoreEvent } from '../../src/storage/store.ts';
import type { Change, History, Operation, Seen, Timed, Watched } from './history.ts';

/** The size of the workload. */
export interface Workload {
  readonly clients: number;
  readonly keys: number;
  /** The number of operations of all clients together. */
  readonly operations: number;
  /** The number of concurrent watchers; each starts again at intervals, at its revision or an earlier one. */
  readonly watchers: number;
}

/** Registers of a service; several stores with one etcd access the same ones. */
export interface Registers {
  get(key: string): Promise<Seen | undefined>;
  list(): Promise<{ readonly found: ReadonlyMap<string, Seen>; readonly revision: number }>;
  /**
   * `expect` 0: the key must not exist; without a value the key is deleted. `refused`: failed, without the current state;
   * `deleted`: at a revision that a watch reports.
   */
  write(
    key: string,
    value: string | undefined,
    expect: number,
  ): Promise<{ revision: number } | { current: Seen | undefined } | 'refused' | 'deleted'>;
  /** Watches all changes after a revision; the returned function stops it. */
  watch(after: number, onChanges: (changes: readonly Change[]) => void): () => void;
}

const PREFIX = '/registry/linearizable/';

/** A store's registers. */
export function registersOf(store: Store): Registers {
  const seen = ({ modRevision, value }: { modRevision: number; value: Uint8Array }): Seen => ({
    revision: modRevision,
    value: Buffer.from(value).toString(),
  });
  const range = { start: PREFIX, end: prefixEnd(PREFIX) };
  return {
    async get(key) {
      const entry = await store.get(PREFIX + key);
      return entry && seen(entry);
    },
    async list() {
      const { entries, revision } = await store.range(range);
      return { found: new Map(entries.map((entry) => [entry.key.slice(PREFIX.length), seen(entry)])), revision };
    },
    async write(key, value, expectRevision) {
      const request = { key: PREFIX + key, expectRevision };
      const result = await (value === undefined
        ? store.delete(request)
        : store.put({ ...request, value: Buffer.from(value) }));
      return result.ok ? { revision: result.revision } : { current: result.current && seen(result.current) };
    },
    watch(after, onChanges) {
      const change = ({ key, revision, value }: StoreEvent): Change => ({
        revision,
        key: key.slice(PREFIX.length),
        value: value && Buffer.from(value).toString(),
      });
      const watch = store.watch(
        { ...range, afterRevision: after },
        {
          onEvents: (events) => onChanges(events.map(change)),
          onError(error) {
            throw error;
          },
        },
      );
      return () => watch.stop();
    },
  };
}

/** Runs the workload, and one write more; the clients share the `ways`. */
export async function runWorkload(ways: readonly Registers[], random: Random, workload: Workload): Promise<History> {
  const operations: Timed[] = [];
  let time = 0;
  let left = workload.operations;
  const { revision: start } = await ways[0]!.list();
  const watches = Array.from({ length: workload.watchers }, (_, index) => openWatch(ways[index % ways.length]!, start));
  const client = async (number: number): Promise<void> => {
    const registers = ways[number % ways.length]!;
    const known = new Map<string, number>();
    while (left-- > 0) {
      const key = `k${random.int(workload.keys)}`;
      const begun = time++;
      const operation = await oneOperation(registers, { key, known, random, value: `c${number}-${begun}` });
      operations.push({ operation, begun, ended: time++ });
    }
  };
  await Promise.all(Array.from({ length: workload.clients }, (_, number) => client(number)));
  // The last write of all, so that watches know when they have seen everything.
  const begun = time++;
  const end = await ways[0]!.write('end', 'end', 0);
  if (typeof end === 'string' || !('revision' in end)) throw new Error('the keys were in use before');
  const { revision } = end;
  operations.push({
    operation: { kind: 'write', key: 'end', value: 'end', expect: 0, revision },
    begun,
    ended: time++,
  });
  // A watch that starts now has to read everything again.
  watches.push(openWatch(ways.at(-1)!, start));
  const watched = await Promise.all(watches.map((watch) => watch.upTo(revision)));
  return { operations: operations.map((one) => withRevision(one, watched[0]!.changes)), watches: watched };
}

/** The revision of a deletion without one: that of the change which replaced the expected revision. */
function withRevision(one: Timed, changes: readonly Change[]): Timed {
  const { operation } = one;
  if (operation.kind !== 'write' || operation.revision > 0) return one;
  const next = changes.find(({ key, revision }) => key === operation.key && revision > operation.expect);
  return { ...one, operation: { ...operation, revision: next?.value === undefined ? (next?.revision ?? 0) : 0 } };
}

interface Doing {
  readonly key: string;
  /** The newest revisions that this client knows. */
  readonly known: Map<string, number>;
  readonly random: Random;
  readonly value: string;
}

async function oneOperation(registers: Registers, { key, known, random, value }: Doing): Promise<Operation> {
  const chance = random.next();
  if (chance < 0.25) {
    const found = await registers.get(key);
    known.set(key, found?.revision ?? 0);
    return { kind: 'get', key, found };
  }
  if (chance < 0.35) {
    const { found, revision } = await registers.list();
    for (const [name, { revision: at }] of found) known.set(name, at);
    return { kind: 'list', found, revision };
  }
  const expect = known.get(key) ?? 0;
  const wanted = chance < 0.45 && expect > 0 ? undefined : value;
  const result = await registers.write(key, wanted, expect);
  if (result === 'refused') {
    known.delete(key);
    return { kind: 'refused', key, expect };
  }
  if (result === 'deleted') {
    known.set(key, 0);
    return { kind: 'write', key, value: undefined, expect, revision: 0 };
  }
  if ('revision' in result) {
    known.set(key, wanted === undefined ? 0 : result.revision);
    return { kind: 'write', key, value: wanted, expect, revision: result.revision };
  }
  known.set(key, result.current?.revision ?? 0);
  return { kind: 'lost', key, expect, current: result.current };
}

function openWatch(registers: Registers, after: number): { upTo(revision: number): Promise<Watched> } {
  const changes: Change[] = [];
  let wake = (): void => undefined;
  const stop = registers.watch(after, (more) => {
    changes.push(...more);
    wake();
  });
  return {
    async upTo(revision) {
      while ((changes.at(-1)?.revision ?? after) < revision) await new Promise<void>((resolve) => (wake = resolve));
      stop();
      return { after, changes };
    },
  };
}
