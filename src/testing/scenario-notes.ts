/**
 * Notes about the steps of a run in addition to their results: a wait that ended at once, a fault that the cluster has not
 * noticed.
 */
import type { Clock } from '../platform/clock.ts';
import { formatSpan } from './duration.ts';

/** A note about one step. */
export interface StepNote {
  /** The index of the step, from 0. */
  readonly step: number;
  /** `alreadyTrue`: a `wait` whose condition was already met. `fault`: when the cluster will notice a fault. */
  readonly kind: 'alreadyTrue' | 'fault';
  readonly text: string;
}

/** The monotonic time at which the loss of a machine is noticed. */
export interface Notice {
  readonly earliestMs: number;
  readonly latestMs: number;
}

export class RunNotes {
  readonly all: StepNote[] = [];
  /** The index of the current step. */
  step = -1;
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #onNote: (note: StepNote) => void;
  /** Lost machines that the cluster has not noticed. */
  readonly #lost = new Map<string, Notice>();

  constructor(clock: Clock, onNote: (note: StepNote) => void = () => undefined) {
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#onNote = onNote;
  }

  fault(text: string): void {
    this.#add('fault', text);
  }

  /** Records a lost machine, whose loss is noticed between two times. */
  lose(node: string, notice: Notice): void {
    this.#lost.set(node, notice);
  }

  /** Records that the machine is back. */
  find(node: string): void {
    this.#lost.delete(node);
  }

  isLost(node: string | undefined): boolean {
    return node !== undefined && this.#lost.has(node);
  }

  /** Records that a wait ended at once, before any change. */
  alreadyTrue(): void {
    const now = this.#clock.monotonicMs();
    const unseen = [...this.#lost].filter(([, { latestMs }]) => latestMs > now);
    const hints = unseen.map(
      ([node, { earliestMs }]) => `; that ${node} is lost is noticed at ${this.timeText(earliestMs)} at the earliest`,
    );
    this.#add('alreadyTrue', `what it waits for was so already: nothing changed, no time passed${hints.join('')}`);
  }

  /** A monotonic time relative to the first step: `+1m5s`. */
  timeText(monotonicMs: number): string {
    return `+${formatSpan(monotonicMs - this.#startMs)}`;
  }

  #add(kind: StepNote['kind'], text: string): void {
    const note = { step: this.step, kind, text };
    this.all.push(note);
    this.#onNote(note);
  }
}

/** One line for each note: `step 3: …`. */
export function noteLines(notes: readonly StepNote[]): string[] {
  return notes.map(({ step, text }) => `step ${step + 1}: ${text}`);
}
