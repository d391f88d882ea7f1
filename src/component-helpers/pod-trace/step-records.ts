/**
 * Records the steps of pods' starts in the component that performs them. A step is an object in a list, so the record
 * is always on. It is bounded by the number of pods, the oldest being dropped first, and by the number of steps per
 * pod, of which the first and last are kept. Finished steps of older pods are packed into a text.
 */
import type { Clock } from '../../platform/clock.ts';
import { packSteps, unpackSteps } from './packed-steps.ts';
import { RecordedStep } from './recorded-step.ts';
import type { ComponentSteps, TraceStep } from './trace-step.ts';

/** The first steps of one pod that are kept. */
const FIRST_STEPS = 48;
const MAX_STEPS = 96;
/** A record is packed after this many later pods, if its steps have ended. */
const PACKED_AFTER_PODS = [32, 64, 128, 256];
/** A step reported by another process. */
export interface PastStep {
  /** Wall-clock, as its end. */
  readonly startMs: number;
  readonly endMs: number;
  readonly parent?: RecordedStep | undefined;
  readonly detail?: string | undefined;
}

export interface RecordedPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** The steps of one pod. */
export class StepRecord {
  readonly pod: RecordedPod;
  readonly #clock: Clock;
  /** Wall time minus monotonic time when the record began: later jumps of the wall clock do not matter. */
  readonly #wallOffsetMs: number;
  #steps: RecordedStep[] | string = [];
  #dropped = 0;
  #finishedMs: number | undefined;

  constructor(pod: RecordedPod, clock: Clock) {
    this.pod = pod;
    this.#clock = clock;
    this.#wallOffsetMs = clock.nowMs() - clock.monotonicMs();
  }

  /** The step that began last. */
  get last(): RecordedStep | undefined {
    return this.#unpacked().at(-1);
  }

  get finished(): boolean {
    return this.#finishedMs !== undefined;
  }

  /** Begins a step, now or at a monotonic time before. */
  start(
    name: string,
    options: { readonly parent?: RecordedStep | undefined; readonly atMs?: number } = {},
  ): RecordedStep {
    const step = new RecordedStep(name, options.atMs ?? this.#clock.monotonicMs(), options.parent);
    const steps = this.#unpacked();
    if (steps.length === MAX_STEPS) {
      steps.splice(FIRST_STEPS, 1);
      this.#dropped++;
    }
    steps.push(step);
    return step;
  }

  end(step: RecordedStep): void {
    step.endMs = this.#clock.monotonicMs();
  }

  /** Adds a finished step by its wall-clock times. */
  add(name: string, { startMs, endMs, parent, detail }: PastStep): void {
    const step = this.start(name, { atMs: startMs - this.#wallOffsetMs, parent });
    step.detail = detail;
    step.endMs = Math.max(endMs - this.#wallOffsetMs, step.startMs);
  }

  /** The pod is ready or finished: later steps do not belong to its start. */
  finish(): void {
    this.#finishedMs ??= this.#clock.monotonicMs();
  }

  /** Packs the steps if all of them have ended. */
  pack(): void {
    if (typeof this.#steps !== 'string') this.#steps = packSteps(this.#steps) ?? this.#steps;
  }

  /** The steps as objects; copies, which callers may change. */
  #unpacked(): RecordedStep[] {
    return typeof this.#steps === 'string' ? (this.#steps = unpackSteps(this.#steps)) : this.#steps;
  }

  publish(component: string): ComponentSteps {
    const offsetMs = this.#wallOffsetMs;
    const steps = typeof this.#steps === 'string' ? unpackSteps(this.#steps) : this.#steps;
    const indexes = new Map(steps.map((step, index) => [step, index]));
    return {
      component,
      uid: this.pod.uid,
      steps: steps.map(({ parent, name, startMs, endMs, detail, error }): TraceStep => ({
        parent: parent && indexes.get(parent),
        name,
        startMs: offsetMs + startMs,
        endMs: endMs === undefined ? undefined : offsetMs + endMs,
        detail,
        error,
      })),
      dropped: this.#dropped || undefined,
      finishedMs: this.#finishedMs === undefined ? undefined : offsetMs + this.#finishedMs,
    };
  }
}

/** The records of a component. */
export class StepRecords {
  readonly #clock: Clock;
  readonly #maxPods: number;
  /** By uid, the oldest first. */
  readonly #records = new Map<string, StepRecord>();
  /** The uids in order: a Map whose oldest entries were deleted walks through their slots to find its first key. */
  readonly #uids: string[] = [];
  #nextUid = 0;

  constructor(clock: Clock, maxPods: number) {
    this.#clock = clock;
    this.#maxPods = maxPods;
  }

  /** The pod's record; a new one where there is none. */
  of(pod: RecordedPod): StepRecord {
    const existing = this.#records.get(pod.uid);
    if (existing !== undefined) return existing;
    const record = new StepRecord(pod, this.#clock);
    this.#records.set(pod.uid, record);
    if (this.#records.size > this.#maxPods) this.#records.delete(this.#uids[this.#nextUid]!);
    this.#uids[this.#nextUid] = pod.uid;
    this.#packBefore(this.#nextUid);
    this.#nextUid = (this.#nextUid + 1) % this.#maxPods;
    return record;
  }

  #packBefore(place: number): void {
    for (const pods of PACKED_AFTER_PODS) {
      const uid = pods < this.#maxPods ? this.#uids[(place - pods + this.#maxPods) % this.#maxPods] : undefined;
      if (uid !== undefined) this.#records.get(uid)?.pack();
    }
  }

  get(uid: string): StepRecord | undefined {
    return this.#records.get(uid);
  }

  /** The newest record of a pod of this name. */
  find(namespace: string, name: string): StepRecord | undefined {
    let stepRecord: StepRecord | undefined;
    for (const record of this.#records.values())
      if (record.pod.namespace === namespace && record.pod.name === name) stepRecord = record;
    return stepRecord;
  }
}
