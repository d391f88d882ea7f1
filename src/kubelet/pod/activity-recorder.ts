/**
 * Records what the kubelet does for pods that somebody looks at. Recording begins when a pod is asked for and ends a minute
 * after the last question, so that it costs nothing as long as nobody asks.
 */
import { formatMicroTime } from '../../api/time.ts';
import type { ActivityEvent, ActivityPart, PodActivity } from '../../api/pod-activity.ts';
import type { Clock } from '../../platform/clock.ts';

const KEPT_MS = 60_000;
/** Events kept of one pod: the newest. */
const MOST_EVENTS = 200;
/** Pods that are looked at at once: the one that nobody asked for longest gives way. */
const MOST_PODS = 16;

/** How a worker's step ended. */
export interface StepEnd {
  readonly error?: string | undefined;
  /** When the pod is synced again by itself, in milliseconds from now. */
  readonly nextSyncMs?: number | undefined;
}

/** What the sync loop and the workers report. */
export interface ActivitySink {
  /** False: nobody observes any pod, so nothing need be recorded. */
  readonly active: boolean;
  event(uid: string, part: ActivityPart, what: string): void;
  /** A worker's step begins; the answer is called at its end. Undefined: nobody looks at the pod. */
  step(uid: string, what: string): ((end: StepEnd) => void) | undefined;
}

export interface ActivityRecorder extends ActivitySink {
  /** What was recorded of a pod; it is recorded from now on. */
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
  /** By uid, the one asked for last at the end. */
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

  /** The recording of a pod that somebody still looks at. */
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
