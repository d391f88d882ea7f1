/** Changes that the store has and the history lacks: those of the last seconds before a crash. */
import type { Clock } from '../../platform/clock.ts';
import type { HistoryAuthor, HistoryLane, HistoryRecord } from '../../storage/history-log.ts';
import { prefixEnd, type Store, StoreError, type StoreEvent } from '../../storage/store.ts';
import { REGISTRY_PREFIX } from '../watch-cache/cache-hub.ts';
import { laneOf } from './lanes.ts';

/** If more are missing, the history records a gap instead. */
const MAX_REVISIONS = 20_000;
const DEADLINE_MS = 10_000;

/** A record whose author may become known after the change. */
interface HeldRecord extends Omit<HistoryRecord, 'author' | 'value'> {
  value: Uint8Array;
  author: HistoryAuthor | undefined;
}

/** A record to be written, with its key. */
export interface HeldChange {
  readonly lane: HistoryLane;
  readonly record: HeldRecord;
}

/** The changes after one revision up to another; undefined when the store has compacted them. */
export async function catchUp(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  after: number,
  until: number,
): Promise<readonly HeldChange[] | undefined> {
  if (until - after > MAX_REVISIONS) return undefined;
  const events = await eventsOf({ store, clock }, after, until);
  const timeMs = clock.nowMs();
  return events?.flatMap((event): HeldChange[] => {
    const lane = laneOf(event.key);
    return lane === undefined ? [] : [{ lane, record: recordOf(event, timeMs) }];
  });
}

function recordOf(event: StoreEvent, timeMs: number): HeldRecord {
  const { key, revision, value = new Uint8Array() } = event;
  const isNew = event.createRevision === revision;
  const change = event.type === 'delete' ? 'deleted' : isNew ? 'created' : 'changed';
  return { key, revision, timeMs, change, author: undefined, value };
}

function eventsOf(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  after: number,
  until: number,
): Promise<readonly StoreEvent[] | undefined> {
  return new Promise((resolve, reject) => {
    const events: StoreEvent[] = [];
    const finish = (found: readonly StoreEvent[] | undefined, error?: Error): void => {
      watch.stop();
      cancel();
      if (error === undefined) resolve(found);
      else reject(error);
    };
    const cancel = clock.setTimer(DEADLINE_MS, () => finish(undefined));
    const range = { start: REGISTRY_PREFIX, end: prefixEnd(REGISTRY_PREFIX), afterRevision: after };
    const watch = store.watch(range, {
      onEvents(found, revision) {
        for (const event of found) if (event.revision <= until) events.push(event);
        if (revision >= until) finish(events);
      },
      onProgress: (revision) => revision >= until && finish(events),
      onError: (error) =>
        error instanceof StoreError && error.code === 'compacted' ? finish(undefined) : finish(undefined, error),
    });
  });
}
