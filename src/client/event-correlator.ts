/**
 * Decides how an event is sent: combined with similar ones, counted up on the one sent before, or dropped as spam.
 * Upstream: client-go tools/record EventCorrelator with its defaults.
 */
import { Lru } from '../base/lru.ts';
import { formatTime } from '../api/time.ts';
import type { Event } from '../api/gen/core-v1.ts';
import type { Clock } from '../platform/clock.ts';
import { createTokenBucket, type TokenBucket } from './rate-limiter.ts';

/** Upstream's, for clusters of any size. */
const MAX_SOURCES = 4096;
const AGGREGATE_AFTER = 10;
const AGGREGATE_WINDOW_MS = 600_000;
/** Upstream bounds what all events together were sent as: 4,096. */
const GROUP_OBSERVATIONS = 64;
const SPAM_BURST = 25;
const SPAM_PER_SECOND = 1 / 300;

/** The decision about an event. */
export type CorrelationResult = CorrelatedEvent | { readonly action: 'drop' };

/** An event to be sent. */
export interface CorrelatedEvent {
  /** Patch: the same event was sent before, raise the count of `event.metadata.name`. */
  readonly action: 'create' | 'patch';
  readonly event: Event;
  /** The place where the event is remembered, to be passed to `stored`. */
  readonly place: EventPlace;
}

/** Where a correlator remembers an event. */
export interface EventPlace {
  readonly group: EventGroup;
  readonly identity: Identity;
}

/** Correlates the events of one process. */
export interface EventCorrelator {
  correlate(event: Event): CorrelationResult;
  /** Records what the server stored, so that the next count starts from there. */
  stored(place: EventPlace, event: Event): void;
}

/**
 * A single item is stored without a list, since most objects have one event and thousands of nodes remember all of
 * theirs.
 */
type OneOrMore<T extends object | string> = T | readonly T[];

/**
 * The memory of one object's events from one source: together, because the names that identify objects are long.
 * `concat` makes a new list at each change: a list that grew by `push` has room for 17 elements.
 */
interface Source {
  /** Limits the rate of this source's events. */
  readonly bucket: TokenBucket;
  groups: readonly EventGroup[];
}

/** Events that differ in their messages alone. */
interface EventGroup {
  readonly type: string | undefined;
  readonly reason: string | undefined;
  readonly reportingComponent: string | undefined;
  readonly reportingInstance: string | undefined;
  /** The different recent messages, oldest first. */
  recent: OneOrMore<string>;
  lastMs: number;
  /** The events sent, oldest first. */
  observations: OneOrMore<Observation>;
}

/** The last state of an event that was sent. */
interface Observation {
  readonly fieldPath: string | undefined;
  /** Undefined for the combination of similar events. */
  readonly message: string | undefined;
  readonly count: number;
  readonly firstTimestamp: string | undefined;
  readonly name: string;
}

/** Which of a group's events: as in `Observation`. */
type Identity = Pick<Observation, 'fieldPath' | 'message'>;

const COMBINED: Identity = { fieldPath: undefined, message: undefined };

/** Starts with empty memory. `maxObjects`: how many objects' events are remembered. */
export function createEventCorrelator(clock: Clock, maxObjects = MAX_SOURCES): EventCorrelator {
  const sources = new Lru<string, Source>(Math.min(maxObjects, MAX_SOURCES));

  function sourceOf(event: Event): Source {
    const key = sourceKey(event);
    let source = sources.get(key);
    if (source === undefined) {
      const bucket = createTokenBucket(clock, { perSecond: SPAM_PER_SECOND, burst: SPAM_BURST });
      sources.set(key, (source = { bucket, groups: [] }));
    }
    return source;
  }

  /** Counts the event; returns whether it exceeds the number of similar events that are sent separately. */
  function isCombined(group: EventGroup, message: string): boolean {
    const nowMs = clock.monotonicMs();
    const recent = nowMs - group.lastMs > AGGREGATE_WINDOW_MS ? [] : listOf(group.recent);
    group.lastMs = nowMs;
    const seen = recent.includes(message) ? recent : recent.concat(message);
    const combined = seen.length >= AGGREGATE_AFTER;
    group.recent = someOf(combined ? seen.slice(1) : seen);
    return combined;
  }

  return {
    correlate(original) {
      const source = sourceOf(original);
      const group = groupOf(source, original) ?? addGroup(source, original, clock.monotonicMs());
      const message = original.message ?? '';
      const combined = isCombined(group, message);
      const event = combined ? { ...original, message: `(combined from similar events): ${message}` } : original;
      const identity = combined ? COMBINED : { fieldPath: original.involvedObject.fieldPath, message };
      const last = listOf(group.observations).find(isSame(identity));
      const observed = last === undefined ? { ...event, count: 1 } : countedUp(event, last, formatTime(clock.nowMs()));
      observe(group, identity, observed);
      if (!source.bucket.tryTake()) return { action: 'drop' };
      return { action: last === undefined ? 'create' : 'patch', event: observed, place: { group, identity } };
    },
    stored: ({ group, identity }, event) => observe(group, identity, event),
  };
}

function sourceKey({ source, involvedObject: about }: Event): string {
  return [source?.component, source?.host, about.kind, about.namespace, about.name, about.uid, about.apiVersion].join(
    '\u0000',
  );
}

function groupOf({ groups }: Source, event: Event): EventGroup | undefined {
  return groups.find(
    (group) =>
      group.reason === event.reason &&
      group.type === event.type &&
      group.reportingComponent === event.reportingComponent &&
      group.reportingInstance === event.reportingInstance,
  );
}

function addGroup(source: Source, event: Event, lastMs: number): EventGroup {
  const { type, reason, reportingComponent, reportingInstance } = event;
  const group: EventGroup = {
    type,
    reason,
    reportingComponent,
    reportingInstance,
    recent: [],
    lastMs,
    observations: [],
  };
  source.groups = source.groups.concat(group);
  return group;
}

function listOf<T extends object | string>(some: OneOrMore<T>): readonly T[] {
  return Array.isArray(some) ? (some as readonly T[]) : [some as T];
}

function someOf<T extends object | string>(list: readonly T[]): OneOrMore<T> {
  return list.length === 1 ? list[0]! : list;
}

function isSame(identity: Identity): (known: Identity) => boolean {
  return ({ fieldPath, message }) => fieldPath === identity.fieldPath && message === identity.message;
}

/** The event as the next of those sent before. */
function countedUp(event: Event, last: Observation, now: string): Event {
  return {
    ...event,
    metadata: { ...event.metadata, name: last.name },
    firstTimestamp: last.firstTimestamp ?? now,
    lastTimestamp: now,
    count: last.count + 1,
  };
}

/** Remembers an event's state; of a group with very many different ones the oldest is forgotten. */
function observe(group: EventGroup, identity: Identity, event: Event): void {
  const { count = 1, firstTimestamp, metadata } = event;
  const same = isSame(identity);
  const others = listOf(group.observations)
    .filter((known) => !same(known))
    .slice(1 - GROUP_OBSERVATIONS);
  const { fieldPath, message } = identity;
  group.observations = someOf(others.concat({ fieldPath, message, count, firstTimestamp, name: metadata.name ?? '' }));
}
