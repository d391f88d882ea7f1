/**
 * Records events and sends them in the background: to the API through the correlator, and to the log. Upstream:
 * client-go tools/record EventBroadcaster.
 *
 * Invariants: recording never throws and never waits; at most 1000 events wait, further ones are dropped and counted
 * in the log; connection failures are retried 12 times, refusals by the server are not.
 */
import { onAbort } from '../base/abort.ts';
import { Channel } from '../base/channel.ts';
import { formatTime } from '../api/time.ts';
import { Events } from '../api/gen/resources.ts';
import { isReason, StatusError } from '../api/status-error.ts';
import type { Event } from '../api/gen/core-v1.ts';
import { sleepUnlessAborted, type Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Random } from '../platform/random.ts';
import type { Client } from './client.ts';
import { type CorrelatedEvent, createEventCorrelator, type EventCorrelator } from './event-correlator.ts';
import type { EventRecorder } from './event-recorder.ts';
import { logRejectedEvent } from './event-rejection.ts';
import { createEventStamps } from './event-stamps.ts';
import { referenceOfTarget } from './object-reference.ts';
import { background } from '../platform/unexpected.ts';

const QUEUE_LENGTH = 1000;
const MAX_TRIES = 12;
const RETRY_MS = 10_000;

export interface EventBroadcasterDeps {
  /** Sends to the API; absent: to the log alone. */
  readonly client?: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The number of objects whose events are remembered, to count repeated ones; default 4,096, which is the most. */
  readonly rememberedObjects?: number;
}

/** Creates recorders and sends their events. */
export interface EventBroadcaster {
  /** A recorder whose events name `component` (and `host`, the node's name for node agents) as their source. */
  recorderFor(component: string, host?: string): EventRecorder;
  /** Sends until the signal aborts; events recorded before wait. */
  start(signal: AbortSignal): void;
}

/** Create one per process: its event names are unique. */
export function createEventBroadcaster(deps: EventBroadcasterDeps): EventBroadcaster {
  const queue = new Channel<Event>(QUEUE_LENGTH);
  const correlator = createEventCorrelator(deps.clock, deps.rememberedObjects);
  const log = deps.log.child('events');
  const nextStamp = createEventStamps(deps.clock);
  let dropped = 0;

  function record(event: Event): void {
    logEvent(log, event);
    if (deps.client === undefined) return;
    if (queue.trySend(event)) return;
    dropped++;
    if ((dropped & (dropped - 1)) === 0) log.warn('event queue is full, events are dropped', { dropped });
  }

  return {
    recorderFor: (component, host) => ({
      event(target, type, reason, message) {
        const involvedObject = referenceOfTarget(target);
        const now = formatTime(deps.clock.nowMs());
        record({
          apiVersion: 'v1',
          kind: 'Event',
          metadata: {
            name: `${involvedObject.name ?? ''}.${nextStamp()}`,
            namespace: involvedObject.namespace ?? 'default',
          },
          involvedObject,
          reason,
          message,
          source: host === undefined ? { component } : { component, host },
          firstTimestamp: now,
          lastTimestamp: now,
          count: 1,
          type,
          reportingComponent: component,
          reportingInstance: host ?? '',
        });
      },
    }),
    start(signal) {
      const { client } = deps;
      if (client === undefined) return;
      onAbort(signal, () => queue.close());
      background(log, 'sending events broke off', sendAll({ ...deps, client, log, correlator }, queue, signal));
    },
  };
}

function logEvent(log: Log, event: Event): void {
  const about = event.involvedObject;
  log.debug('event occurred', {
    object: about.namespace === undefined ? about.name : `${about.namespace}/${about.name}`,
    kind: about.kind,
    type: event.type,
    reason: event.reason,
    message: event.message,
  });
}

interface Sender {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly correlator: EventCorrelator;
}

async function sendAll(sender: Sender, queue: Channel<Event>, signal: AbortSignal): Promise<void> {
  for (let next = await queue.receive(); !next.done; next = await queue.receive()) {
    if (signal.aborted) return;
    const result = sender.correlator.correlate(next.value);
    if (result.action !== 'drop') await sendWithRetries(sender, result, signal);
  }
}

async function sendWithRetries(sender: Sender, result: CorrelatedEvent, signal: AbortSignal): Promise<void> {
  for (let attempt = 1; !signal.aborted; attempt++) {
    try {
      sender.correlator.stored(result.place, await send(sender.client, result, signal));
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof StatusError) {
        logRejectedEvent(sender.log, result.event.metadata.name, error);
        return;
      }
      if (attempt >= MAX_TRIES) {
        sender.log.error('unable to send event, giving up', { event: result.event.metadata.name, err: error });
        return;
      }
    }
    // The first delay is random, so that clients do not hammer a server that comes back.
    const delayMs = attempt === 1 ? RETRY_MS * sender.random.next() : RETRY_MS;
    await sleepUnlessAborted(sender.clock, delayMs, signal);
  }
}

async function send(client: Client, { action, event }: CorrelatedEvent, signal: AbortSignal): Promise<Event> {
  const events = client.resource(Events);
  if (action === 'create') return await events.create(event, { signal });
  try {
    const patch = { count: event.count, lastTimestamp: event.lastTimestamp, message: event.message };
    const key = { namespace: event.metadata.namespace ?? 'default', name: event.metadata.name ?? '' };
    return await events.patch(key, { type: 'strategic', patch }, { signal });
  } catch (error) {
    if (!isReason(error, 'NotFound')) throw error;
    return await events.create(event, { signal });
  }
}
