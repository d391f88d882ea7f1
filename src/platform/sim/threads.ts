/** The threads of simulations. */
import type { Threads } from '../threads.ts';

/** No threads: their turns would not replay. */
export function createSimThreads(): Threads {
  return { pool: () => undefined };
}
