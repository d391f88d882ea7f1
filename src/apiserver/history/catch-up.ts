/** Changes that the store has and the history lacks: those of the last seconds before a crash. */
import type { Clock } from '../../platform/clock.ts';
import type { HistoryLane } from '../../storage/history-log.ts';
import type { HistoryRecord } from '../../storage/history-record.ts';
import { prefixEnd, type Store, StoreError, type StoreEvent } from '../../storage/store.ts';
import { REGISTRY_PREFIX } from '../watch-cache/cache-hub.ts';
import { laneOf } from './lanes.ts';

/** If more are missing, the history records a gap instead. */
const MAX_REVISIONS = 20_000;
const DEADLINE_MS = 10_000;

/** A record with its lane. */
export interface MissedChange {
  readonly lane: HistoryLane;
  readonly record: HistoryRecord;
}

/** The changes after one revision up to another; undefined when the store has compacted them. */
export async function catchUp(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  after: number,
  until: number,
): Promise<readonly MissedChange[] | undefined> {
  if (until - after > MAX_REVISIONS) return undefined;
  const events = await eventsOf({ store, clock }, after, until);
  const timeMs = clock.nowMs();
  return events?.flatMap((event): MissedChange[] => {
    const lane = laneOf(event.key);
    return lane === undefined ? [] : [{ lane, record: recordOf(event, timeMs) }];
  });
}

function recordOf(event: StoreEvent, timeMs: number): HistoryRecord {
  const { key, revision, value = new Uint8Array() } = event;
  const isNew = event.createRevision === revision;
  const change = event.type === 'delete' ? 'deleted' : isNew ? 'created' : 'changed';
  return { key, revision, timeMs, change, value };
}

function eventsOf(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  after: number,
  until: number,
): Promise<readonly StoreEvent[] | undefined> {
  return new Promise((resolve, reject) => {
    const events: StoreEvent[] = [];
    const finish = (storeEvents: readonly StoreEvent[] | undefined, error?: Error): void => {
      watch.stop();
      cancel();
      if (error === undefined) resolve(storeEvents);
      else reject(error);
    };
    const cancel = clock.setTimer(DEADLINE_MS, () => finish(undefined));
    const range = { start: REGISTRY_PREFIX, end: prefixEnd(REGISTRY_PREFIX), afterRevision: after };
    const watch = store.watch(range, {
      onEvents(storeEvents, revision) {
        for (const event of storeEvents) if (event.revision <= until) events.push(event);
        if (revision >= until) finish(events);
      },
      onProgress: (revision) => revision >= until && finish(events),
      onError: (error) =>
        error instanceof StoreError && error.code === 'compacted' ? finish(undefined) : finish(undefined, error),
    });
  });
}
