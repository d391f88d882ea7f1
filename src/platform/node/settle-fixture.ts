/** For work that needs both: real sockets, whose time is real, and deadlines on virtual time. */
import type { VirtualClock } from '../sim/virtual-clock.ts';
import { createNodeClock } from './clock.ts';

const ROUND_MS = 2;
/**
 * A number of rounds in a row in which the process does next to nothing pass before virtual time goes on: work on real sockets meets no
 * deadline by itself on a slow machine. A process that never rests has so many rounds in all.
 */
const QUIET_ROUNDS = 100;
const ROUNDS = 5000;
const QUIET_US = 1000;

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
  let quiet = 0;
  for (let round = 0; settled === undefined; round++) {
    const before = process.cpuUsage();
    await real.sleep(ROUND_MS);
    const { user, system } = process.cpuUsage(before);
    quiet = user + system < QUIET_US ? quiet + 1 : 0;
    if (quiet >= QUIET_ROUNDS || round >= ROUNDS) await clock.advance(stepMs);
  }
  return settled;
}
