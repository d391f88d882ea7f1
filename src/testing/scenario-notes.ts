/** What a reader of a run should know of its steps beyond that they passed: a wait that waited for nothing, a fault nobody sees yet. */
import type { Clock } from '../platform/clock.ts';
import { formatSpan } from './duration.ts';

/** About one step. */
export interface StepNote {
  /** Index of the step, from 0. */
  readonly step: number;
  /** `alreadyTrue`: a `wait` that tests nothing as it stands. `fault`: when something broken will be noticed. */
  readonly kind: 'alreadyTrue' | 'fault';
  readonly text: string;
}

/** When the loss of a machine is noticed, on the monotonic clock. */
export interface Notice {
  readonly earliestMs: number;
  readonly latestMs: number;
}

export class RunNotes {
  readonly all: StepNote[] = [];
  /** Index of the step that runs. */
  step = -1;
  readonly #clock: Clock;
  readonly #startMs: number;
  readonly #onNote: (note: StepNote) => void;
  /** Machines that are lost, and nobody has noticed. */
  readonly #lost = new Map<string, Notice>();

  constructor(clock: Clock, onNote: (note: StepNote) => void = () => undefined) {
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#onNote = onNote;
  }

  fault(text: string): void {
    this.#add('fault', text);
  }

  /** A machine is lost, and noticed between two times. */
  lose(node: string, notice: Notice): void {
    this.#lost.set(node, notice);
  }

  /** The machine is back. */
  find(node: string): void {
    this.#lost.delete(node);
  }

  isLost(node: string | undefined): boolean {
    return node !== undefined && this.#lost.has(node);
  }

  /** A wait ended at once, before anything changed. */
  alreadyTrue(): void {
    const now = this.#clock.monotonicMs();
    const unseen = [...this.#lost].filter(([, { latestMs }]) => latestMs > now);
    const hints = unseen.map(
      ([node, { earliestMs }]) => `; that ${node} is lost is noticed at ${this.timeText(earliestMs)} at the earliest`,
    );
    this.#add('alreadyTrue', `what it waits for was so already: nothing changed, no time passed${hints.join('')}`);
  }

  /** `+1m5s`: a monotonic time, since the first step. */
  timeText(monotonicMs: number): string {
    return `+${formatSpan(monotonicMs - this.#startMs)}`;
  }

  #add(kind: StepNote['kind'], text: string): void {
    const note = { step: this.step, kind, text };
    this.all.push(note);
    this.#onNote(note);
  }
}

/** `step 3: …` for each. */
export function noteLines(notes: readonly StepNote[]): string[] {
  return notes.map(({ step, text }) => `step ${step + 1}: ${text}`);
}
