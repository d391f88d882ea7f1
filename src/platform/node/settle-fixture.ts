/** For work that needs both: real sockets, whose time is real, and deadlines on virtual time. */
import type { VirtualClock } from '../sim/virtual-clock.ts';
import { createNodeClock } from './clock.ts';

const ROUND_MS = 2;
/** So many rounds real work has to itself before virtual time goes on, so that a slow machine meets no deadline by itself. */
const REAL_ROUNDS = 100;

/** How the work ended. */
export type Settled<T> =
  | { readonly value: T; readonly error?: never }
  | { readonly value?: never; readonly error: Error };

/** Waits for `work`; what does not end by itself has deadlines that virtual time reaches in steps of `stepMs`. */
export async function settleWhileTimePasses<T>(
  clock: VirtualClock,
  work: Promise<T>,
  stepMs: number,
): Promise<Settled<T>> {
  let settled: Settled<T> | undefined;
  work.then(
    (value) => (settled = { value }),
    (error: Error) => (settled = { error }),
  );
  const real = createNodeClock();
  for (let round = 0; settled === undefined; round++) {
    await real.sleep(ROUND_MS);
    if (round >= REAL_ROUNDS) await clock.advance(stepMs);
  }
  return settled;
}
