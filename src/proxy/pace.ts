/** Turns for others while one service makes many elements. */
import type { Clock } from '../platform/clock.ts';

const ELEMENTS_PER_TURN = 5000;

/** Counts what was made; a promise when others have a turn now. */
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
