/**
 * Decides what becomes of an event before it is sent: combined with similar ones, counted up on the one sent before, or
 * dropped as spam. Upstream: client-go tools/record EventCorrelator with its defaults.
 */
import { Lru } from '../base/lru.ts';
import { formatTime } from '../api/time.ts';
import type { Event } from '../api/gen/core-v1.ts';
import type { Clock } from '../platform/clock.ts';
import { createTokenBucket, type TokenBucket } from './rate-limiter.ts';

const CACHE_ENTRIES = 4096;
const AGGREGATE_AFTER = 10;
const AGGREGATE_WINDOW_MS = 600_000;
const SPAM_BURST = 25;
const SPAM_PER_SECOND = 1 / 300;

/** What to do with an event. */
export type CorrelationResult = CorrelatedEvent | { readonly action: 'drop' };

/** An event to be sent. */
export interface CorrelatedEvent {
  /** Patch: the same event was sent before, raise the count of `event.metadata.name`. */
  readonly action: 'create' | 'patch';
  readonly event: Event;
  /** What events are the same by; for `stored`. */
  readonly key: string;
}

/** Correlates the events of one process. */
export interface EventCorrelator {
  correlate(event: Event): CorrelationResult;
  /** Tells what the server stored for a key, so that the next one counts from there. */
  stored(key: string, event: Event): void;
}

/** What an object's events from one source may still cost. Its number stands for both in other keys: the names are long. */
interface Source {
  readonly id: number;
  readonly bucket: TokenBucket;
}
interface Aggregate {
  readonly id: number;
  /** Its different messages, oldest first: a list, for nearly always there is one. */
  readonly messages: string[];
  lastMs: number;
}
interface Observation {
  readonly count: number;
  readonly firstTimestamp: string | undefined;
  readonly name: string;
}

/** Makes a correlator with empty memory. */
export function createEventCorrelator(clock: Clock): EventCorrelator {
  const aggregates = new Lru<string, Aggregate>(CACHE_ENTRIES);
  const observations = new Lru<string, Observation>(CACHE_ENTRIES);
  const sources = new Lru<string, Source>(CACHE_ENTRIES);
  let lastId = 0;

  function aggregate(event: Event, source: Source): { event: Event; key: string } {
    const groupKey = aggregateKey(source.id, event);
    const nowMs = clock.monotonicMs();
    const message = event.message ?? '';
    let record = aggregates.get(groupKey);
    if (record === undefined || nowMs - record.lastMs > AGGREGATE_WINDOW_MS)
      record = { id: record?.id ?? ++lastId, messages: [message], lastMs: nowMs };
    if (!record.messages.includes(message)) record.messages.push(message);
    record.lastMs = nowMs;
    aggregates.set(groupKey, record);
    if (record.messages.length < AGGREGATE_AFTER) return { event, key: eventKey(record.id, event) };
    record.messages.shift();
    const combined = { ...event, message: `(combined from similar events): ${event.message ?? ''}` };
    return { event: combined, key: groupKey };
  }

  function sourceOf(event: Event): Source {
    const key = spamKey(event);
    let source = sources.get(key);
    if (source === undefined) {
      const bucket = createTokenBucket(clock, { perSecond: SPAM_PER_SECOND, burst: SPAM_BURST });
      sources.set(key, (source = { id: ++lastId, bucket }));
    }
    return source;
  }

  return {
    correlate(original) {
      const source = sourceOf(original);
      const { event, key } = aggregate(original, source);
      const last = observations.get(key);
      const count = (last?.count ?? 0) + 1;
      const now = formatTime(clock.nowMs());
      const observed: Event =
        last === undefined
          ? { ...event, count }
          : {
              ...event,
              metadata: { ...event.metadata, name: last.name },
              firstTimestamp: last.firstTimestamp ?? now,
              lastTimestamp: now,
              count,
            };
      observations.set(key, { count, firstTimestamp: observed.firstTimestamp, name: observed.metadata.name ?? '' });
      if (!source.bucket.tryTake()) return { action: 'drop' };
      return { action: last === undefined ? 'create' : 'patch', event: observed, key };
    },
    stored(key, { count = 1, firstTimestamp, metadata }) {
      observations.set(key, { count, firstTimestamp, name: metadata.name ?? '' });
    },
  };
}

function spamKey({ source, involvedObject: about }: Event): string {
  return [source?.component, source?.host, about.kind, about.namespace, about.name, about.uid, about.apiVersion].join(
    '\u0000',
  );
}

function aggregateKey(source: number, event: Event): string {
  return [source, event.type, event.reason, event.reportingComponent, event.reportingInstance].join('\u0000');
}

function eventKey(aggregate: number, event: Event): string {
  return [aggregate, event.involvedObject.fieldPath, event.message].join('\u0000');
}
