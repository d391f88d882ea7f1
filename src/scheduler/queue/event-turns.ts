/**
 * Handles events one after the other, in turns of a few milliseconds: an event asks hints of every waiting pod, of
 * which there may be any number, each with thousands of terms or volumes.
 */
import { stepByStep, type Steps } from '../../base/steps.ts';
import type { Clock } from '../../platform/clock.ts';

/** How long hints are asked before others get a turn. */
const TURN_MS = 2;
/** The most events that wait; with more all pods are retried instead. */
const MAX_WAITING = 1000;

export interface EventTurnsDeps<E> {
  readonly clock: Pick<Clock, 'monotonicMs' | 'yield'>;
  /** Asks the hints of one pod after the other. */
  visit(event: E): Iterable<unknown>;
  /** Stands for all events that wait, and this one. */
  overflow(event: E): void;
  failed(error: unknown): void;
}

export class EventTurns<E> {
  readonly #deps: EventTurnsDeps<E>;
  readonly #waiting: E[] = [];
  #isBusy = false;

  constructor(deps: EventTurnsDeps<E>) {
    this.#deps = deps;
  }

  add(event: E): void {
    if (this.#waiting.length >= MAX_WAITING) {
      this.#waiting.length = 0;
      return this.#deps.overflow(event);
    }
    this.#waiting.push(event);
    if (this.#isBusy) return;
    const left = stepByStep(this.#handleAll(), () => this.#deps.clock.yield());
    if (left instanceof Promise) left.catch((error: unknown) => this.#deps.failed(error));
  }

  *#handleAll(): Steps<void> {
    const { clock } = this.#deps;
    this.#isBusy = true;
    try {
      let sinceMs = clock.monotonicMs();
      for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift())
        for (const _ of this.#deps.visit(event)) {
          if (clock.monotonicMs() - sinceMs < TURN_MS) continue;
          yield;
          sinceMs = clock.monotonicMs();
        }
    } finally {
      this.#isBusy = false;
    }
  }
}
