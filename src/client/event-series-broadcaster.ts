/**
 * Records events of the newer form: with an action, a related object and a time in microseconds, and a series where one
 * repeats. Upstream: client-go tools/events EventBroadcaster, which the scheduler and kube-proxy use.
 *
 * Invariants: recording never throws and never waits; at most 1000 events wait, further ones are dropped. The first event is created, the second of its key patches a series
 * of two onto it; later ones only raise the count here, which is written when the series has been quiet for six minutes,
 * and every 30 minutes before that. The note does not belong to the key, as upstream.
 */
import { onAbort } from '../base/abort.ts';
import { Channel } from '../base/channel.ts';
import { EventsV1 } from '../api/gen/resources.ts';
import type { Event } from '../api/gen/events-v1.ts';
import { isReason, StatusError } from '../api/status-error.ts';
import { formatMicroTime, parseTime } from '../api/time.ts';
import { sleepUnlessAborted, type Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Random } from '../platform/random.ts';
import type { Client } from './client.ts';
import { logRejectedEvent } from './event-rejection.ts';
import { createEventStamps } from './event-stamps.ts';
import type { RecordedEvent, SeriesEventRecorder } from './event-series-recorder.ts';
import { referenceOfTarget } from './object-reference.ts';
import { background } from '../platform/unexpected.ts';

const QUEUE_LENGTH = 1000;
const MAX_TRIES = 12;
const RETRY_MS = 10_000;
const RETRY_JITTER = 0.25;
const FINISH_MS = 6 * 60_000;
const REFRESH_MS = 30 * 60_000;
/** Further keys are not remembered: their events are created one by one. */
const MAX_KEYS = 4096;
const NOTE_LIMIT = 1024;

export interface EventSeriesBroadcasterDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Ends the `reportingInstance` of every event. */
  readonly hostName: string;
}

/** Creates recorders and sends their events. Create one per process: its event names are unique. */
export class EventSeriesBroadcaster {
  readonly #deps: EventSeriesBroadcasterDeps;
  readonly #log: Log;
  readonly #nextStamp: () => string;
  readonly #cache = new Map<string, Event>();
  readonly #queue = new Channel<Event>(QUEUE_LENGTH);
  #dropped = 0;

  constructor(deps: EventSeriesBroadcasterDeps) {
    this.#deps = deps;
    this.#log = deps.log.child('events');
    this.#nextStamp = createEventStamps(deps.clock);
  }

  /** A recorder whose events name `controller` as their reporting controller. */
  recorderFor(controller: string): SeriesEventRecorder {
    const reportingInstance = `${controller}-${this.#deps.hostName}`.slice(0, 128);
    return { eventf: (recorded) => this.#record(recorded, { controller, reportingInstance }) };
  }

  /** Sends until the signal aborts; events recorded before wait for the start. */
  start(signal: AbortSignal): void {
    onAbort(signal, () => this.#queue.close());
    background(this.#log, 'sending events broke off', this.#sendAll(signal));
    background(
      this.#log,
      'sending events broke off',
      this.#every(FINISH_MS, signal, () => this.#finishSeries(signal)),
    );
    background(
      this.#log,
      'sending events broke off',
      this.#every(REFRESH_MS, signal, () => this.#refreshExistingEventSeries(signal)),
    );
  }

  #record(recorded: RecordedEvent, by: { readonly controller: string; readonly reportingInstance: string }): void {
    const regarding = referenceOfTarget(recorded.regarding);
    const { type, reason, action, note } = recorded;
    this.#log.debug('event occurred', { object: regarding.name, kind: regarding.kind, type, reason, action, note });
    const event: Event = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: `${regarding.name ?? ''}.${this.#nextStamp()}`, namespace: regarding.namespace ?? 'default' },
      eventTime: formatMicroTime(this.#deps.clock.nowMs()),
      reportingController: by.controller,
      reportingInstance: by.reportingInstance,
      action,
      reason,
      regarding,
      ...(recorded.related && { related: referenceOfTarget(recorded.related) }),
      note: truncated(note),
      type,
    };
    this.#recordToSink(event);
  }

  #recordToSink(event: Event): void {
    const key = keyOf(event);
    const known = this.#cache.get(key);
    if (known === undefined) {
      if (this.#cache.size < MAX_KEYS) this.#cache.set(key, event);
      this.#enqueue(event);
      return;
    }
    const lastObservedTime = formatMicroTime(this.#deps.clock.nowMs());
    const series = { count: (known.series?.count ?? 1) + 1, lastObservedTime };
    const repeated = { ...known, series };
    this.#cache.set(key, repeated);
    if (known.series === undefined) this.#enqueue(repeated);
  }

  #enqueue(event: Event): void {
    if (this.#queue.trySend(event)) return;
    this.#dropped++;
    // Logged at every power of two.
    if ((this.#dropped & (this.#dropped - 1)) === 0)
      this.#log.warn('event queue is full, events are dropped', { dropped: this.#dropped });
  }

  async #sendAll(signal: AbortSignal): Promise<void> {
    for (let next = await this.#queue.receive(); !next.done; next = await this.#queue.receive()) {
      if (signal.aborted) return;
      await this.#attemptRecording(next.value, signal);
    }
  }

  async #attemptRecording(event: Event, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#deps;
    for (let tries = 1; !signal.aborted; tries++) {
      if (await this.#recordEvent(event, signal)) return;
      if (tries >= MAX_TRIES) {
        this.#log.error('unable to write event, giving up', { event: event.metadata.name });
        return;
      }
      await sleepUnlessAborted(clock, RETRY_MS * (1 + RETRY_JITTER * random.next()), signal);
    }
  }

  /** Returns whether the event needs no retry: the server stored or refused it. */
  async #recordEvent(event: Event, signal: AbortSignal): Promise<boolean> {
    try {
      await send(this.#deps.client, event, signal);
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      if (!(error instanceof StatusError)) return false;
      logRejectedEvent(this.#log, event.metadata.name, error);
      return true;
    }
  }

  async #every(periodMs: number, signal: AbortSignal, pass: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      await sleepUnlessAborted(this.#deps.clock, periodMs, signal);
      if (!signal.aborted && this.#cache.size > 0) await pass();
    }
  }

  /** Writes the final count of series that were quiet for six minutes, and forgets them. */
  async #finishSeries(signal: AbortSignal): Promise<void> {
    const before = this.#deps.clock.nowMs() - FINISH_MS;
    for (const [key, event] of this.#cache) {
      if (parseTime(event.series?.lastObservedTime ?? event.eventTime) >= before) continue;
      if (event.series !== undefined && !(await this.#recordEvent(event, signal))) continue;
      this.#cache.delete(key);
    }
  }

  /** Writes the counts of ongoing series, so that their events do not expire. */
  async #refreshExistingEventSeries(signal: AbortSignal): Promise<void> {
    for (const event of this.#cache.values()) {
      if (event.series !== undefined) await this.#recordEvent(event, signal);
    }
  }
}

async function send(client: Client, event: Event, signal: AbortSignal): Promise<void> {
  const events = client.resource(EventsV1);
  const { namespace = 'default', name = '' } = event.metadata;
  if (event.series !== undefined) {
    try {
      await events.patch({ namespace, name }, { type: 'strategic', patch: { series: event.series } }, { signal });
      return;
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }
  await events.create(event, { signal });
}

function keyOf({ type, action, reason, reportingController, regarding, related }: Event): string {
  return JSON.stringify([type, action, reason, reportingController, regarding, related]);
}

/** The API takes 1,024 characters; upstream's scheduler cuts likewise. */
function truncated(note: string): string {
  const suffix = ' ...';
  return note.length <= NOTE_LIMIT ? note : note.slice(0, NOTE_LIMIT - suffix.length) + suffix;
}
