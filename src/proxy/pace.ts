/** Yields to the event loop while the rules of large services are computed. */
import type { Clock } from '../platform/clock.ts';

const ELEMENTS_PER_TURN = 5000;

/** Counts elements. Returns a promise to await when it is time to yield. */
export type Pace = (made: number) => Promise<void> | undefined;

export function createPace(clock: Pick<Clock, 'yield'>): Pace {
  let sinceTurn = 0;
  return (made) => {
    sinceTurn += made + 1;
    if (sinceTurn < ELEMENTS_PER_TURN) return undefined;
    sinceTurn = 0;
    return clock.yield();
  };
}
