/**
 * The changes of all keys, in revision order, over etcd's Watch; after a break it continues at another member.
 *
 * The watch covers the whole key space on purpose: every revision is then an event, so its progress is always known.
 * Upstream uses progress notifications instead, which etcd before 3.4.31 and 3.5.13 may send too early.
 *
 * Invariants: each revision is delivered once, complete and in order; revisions that were compacted meanwhile are
 * reported as a gap.
 */
import { createBackoff } from '../../base/backoff.ts';
import { sleepUnlessAborted, type Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { logFailure } from '../../platform/unexpected.ts';
import type { StoreEvent } from '../store.ts';
import type { EtcdCodec } from './codec.ts';
import type { EtcdClient } from './etcd-client.ts';
import type { EtcdEvent, WatchResponse } from './etcd-table.ts';

export interface EventFeedDeps {
  readonly client: EtcdClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly codec: EtcdCodec;
}

export interface EventFeedListener {
  onEvents(events: readonly StoreEvent[], revision: number): void;
  /** Changes up to `compactedRevision` are lost; resolves to the revision to continue after. */
  onGap(compactedRevision: number): Promise<number>;
}

/** Changes up to a compaction are gone. */
export class CompactedError extends Error {
  readonly compactedRevision: number;
  constructor(compactedRevision: number) {
    super(`compacted at revision ${compactedRevision}`);
    this.compactedRevision = compactedRevision;
  }
}

/**
 * Changes from `startRevision` on, grouped as etcd sends them, until the signal aborts. Rejects with `CompactedError`
 * or `GrpcError`.
 */
export async function* readEvents(
  { client, codec }: EventFeedDeps,
  startRevision: number,
  { signal, onCreated }: { readonly signal: AbortSignal; readonly onCreated?: () => void },
): AsyncIterable<readonly StoreEvent[]> {
  const done = Promise.withResolvers<void>();
  const requests = async function* (): AsyncIterable<object> {
    yield {
      createRequest: { key: codec.key(''), rangeEnd: codec.key(''), startRevision, fragment: true },
    };
    await done.promise; // the watch ends when its requests end
  };
  let parts: EtcdEvent[] = [];
  try {
    for await (const message of client.stream('Watch/Watch', requests(), signal)) {
      const response = message as WatchResponse;
      if (response.compactRevision > 0) throw new CompactedError(response.compactRevision);
      if (response.canceled) throw new Error(`etcd ended the watch: ${response.cancelReason}`);
      if (response.created) onCreated?.();
      for (const event of response.events) parts.push(event);
      if (response.fragment || parts.length === 0) continue;
      const events = parts.map((event) => codec.event(event));
      parts = [];
      yield events;
    }
  } finally {
    done.resolve();
  }
}

/** Runs until the signal. `after`: the last revision already known. */
export async function runEventFeed(
  deps: EventFeedDeps,
  listener: EventFeedListener,
  { after, signal, onCreated }: { after: number; signal: AbortSignal; onCreated: () => void },
): Promise<void> {
  const backoff = createBackoff({ initialMs: 50, maxMs: 2_000 });
  let seen = after;
  while (!signal.aborted) {
    try {
      const started = (): void => {
        backoff.reset();
        onCreated();
      };
      for await (const events of readEvents(deps, seen + 1, { signal, onCreated: started })) {
        const { revision } = events.at(-1)!;
        listener.onEvents(events, revision);
        seen = revision; // after delivery: undelivered changes are read again
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof CompactedError) seen = await resumeAfter(deps.log, listener, { gap: error, seen });
      else logFailure(deps.log, 'the watch on etcd broke off, again later', error);
    }
    await sleepUnlessAborted(deps.clock, backoff.nextMs(), signal); // an abort ends the loop above
  }
}

/** The revision to continue after; the same one when etcd does not answer, so that the gap is found again. */
async function resumeAfter(
  log: Log,
  listener: EventFeedListener,
  { gap, seen }: { readonly gap: CompactedError; readonly seen: number },
): Promise<number> {
  try {
    return await listener.onGap(gap.compactedRevision);
  } catch (error) {
    logFailure(log, 'the end of a gap in the watch on etcd is not known, again later', error);
    return seen; // the watch finds the gap again
  }
}
