/** Lets other work run between the parts of long work on the event loop. */
import type { ApiRequest } from '../api/transport.ts';
import type { Clock } from '../platform/clock.ts';

/** How long a piece of work runs before other work gets a turn. */
const TURN_MS = 2;

export type Pace = Pick<Clock, 'monotonicMs' | 'yield' | 'turn'>;

/** The pace for work of a request, which queues with other requests' work. */
export function paceOf({ pause, turn }: Pick<ApiRequest, 'pause' | 'turn'>, clock: Clock): Pace {
  return {
    monotonicMs: () => clock.monotonicMs(),
    yield: () => pause?.() ?? clock.yield(),
    turn: () => turn?.(),
  };
}

/**
 * The same for a response that is not read after the client has disconnected: waiting then rejects with the signal's
 * reason.
 */
export function answerPaceOf(request: Pick<ApiRequest, 'pause' | 'turn' | 'signal'>, clock: Clock): Pace {
  const pace = paceOf(request, clock);
  const unlessLeft = async (due: Promise<void>): Promise<void> => {
    await due;
    request.signal.throwIfAborted();
  };
  return {
    monotonicMs: () => pace.monotonicMs(),
    yield: () => unlessLeft(pace.yield()),
    turn() {
      const due = pace.turn();
      return due && unlessLeft(due);
    },
  };
}

/** The turns of one piece of work. */
export class Turns {
  readonly #pace: Pace;
  #sinceMs: number;
  #hasBegun = false;

  constructor(pace: Pace) {
    this.#pace = pace;
    this.#sinceMs = pace.monotonicMs();
  }

  /** A returned promise must be awaited: this turn was long, or other work has the turn. */
  next(): Promise<void> | undefined {
    if (!this.#hasBegun) return this.#begin();
    return this.#pace.monotonicMs() - this.#sinceMs <= TURN_MS ? undefined : this.#goOnAfter(this.#pace.yield());
  }

  #begin(): Promise<void> | undefined {
    this.#hasBegun = true;
    const due = this.#pace.turn();
    return due && this.#goOnAfter(due);
  }

  async #goOnAfter(pause: Promise<void>): Promise<void> {
    await pause;
    this.#sinceMs = this.#pace.monotonicMs();
  }
}
