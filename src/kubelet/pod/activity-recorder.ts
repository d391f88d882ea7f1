/**
 * Records the kubelet's work for pods that somebody observes. Recording begins with the first request for a pod and
 * ends a minute after the last, so it costs nothing while nobody asks.
 */
import { formatMicroTime } from '../../api/time.ts';
import type { ActivityEvent, ActivityPart, PodActivity } from '../../api/pod-activity.ts';
import type { Clock } from '../../platform/clock.ts';

const KEPT_MS = 60_000;
/** The newest events of a pod that are kept. */
const MOST_EVENTS = 200;
/** The most pods observed at once; the one with the oldest request is dropped. */
const MOST_PODS = 16;

/** The result of a worker's step. */
export interface StepEnd {
  readonly error?: string | undefined;
  /** The delay until the pod's next sync, in milliseconds. */
  readonly nextSyncMs?: number | undefined;
}

/** Receives the reports of the sync loop and the workers. */
export interface ActivitySink {
  /** False: no pod is observed, so nothing needs to be recorded. */
  readonly active: boolean;
  event(uid: string, part: ActivityPart, what: string): void;
  /**
   * Records the start of a worker's step; the returned function is called at its end. Undefined: the pod is not
   * observed.
   */
  step(uid: string, what: string): ((end: StepEnd) => void) | undefined;
}

export interface ActivityRecorder extends ActivitySink {
  /** The recording of a pod, which begins with the first call. */
  activityOf(uid: string): PodActivity;
}

interface Recording {
  readonly sinceMs: number;
  askedMs: number;
  next: number;
  readonly events: ActivityEvent[];
}

export function createActivityRecorder(clock: Clock): ActivityRecorder {
  return new Recorder(clock);
}

class Recorder implements ActivityRecorder {
  readonly #clock: Clock;
  /** By uid, in order of their last request. */
  readonly #recordings = new Map<string, Recording>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get active(): boolean {
    return this.#recordings.size > 0;
  }

  event(uid: string, part: ActivityPart, what: string): void {
    const recording = this.#current(uid);
    if (recording !== undefined) this.#add(recording, { part, what });
  }

  step(uid: string, what: string): ((end: StepEnd) => void) | undefined {
    const recording = this.#current(uid);
    if (recording === undefined) return undefined;
    const begun = this.#add(recording, { part: 'worker', what });
    const startMs = this.#clock.monotonicMs();
    return ({ error, nextSyncMs }) => {
      const at = recording.events.indexOf(begun);
      if (at < 0) return;
      const durationMs = this.#clock.monotonicMs() - startMs;
      const nextSync = nextSyncMs === undefined ? undefined : formatMicroTime(this.#clock.nowMs() + nextSyncMs);
      recording.events[at] = { ...begun, durationMs, error, nextSync };
    };
  }

  activityOf(uid: string): PodActivity {
    const nowMs = this.#clock.nowMs();
    const recording = this.#current(uid) ?? { sinceMs: nowMs, askedMs: nowMs, next: 0, events: [] };
    recording.askedMs = nowMs;
    this.#recordings.delete(uid);
    this.#recordings.set(uid, recording);
    const [oldest] = this.#recordings.keys();
    if (this.#recordings.size > MOST_PODS && oldest !== undefined) this.#recordings.delete(oldest);
    return {
      apiVersion: 'keelson/v1',
      kind: 'PodActivity',
      uid,
      now: formatMicroTime(nowMs),
      since: formatMicroTime(recording.sinceMs),
      events: [...recording.events],
    };
  }

  /** The recording of an observed pod. */
  #current(uid: string): Recording | undefined {
    if (this.#recordings.size === 0) return undefined;
    const endMs = this.#clock.nowMs() - KEPT_MS;
    for (const [one, { askedMs }] of this.#recordings) if (askedMs < endMs) this.#recordings.delete(one);
    return this.#recordings.get(uid);
  }

  #add(recording: Recording, { part, what }: Pick<ActivityEvent, 'part' | 'what'>): ActivityEvent {
    const event = { number: recording.next++, at: formatMicroTime(this.#clock.nowMs()), part, what };
    recording.events.push(event);
    if (recording.events.length > MOST_EVENTS) recording.events.shift();
    return event;
  }
}
