/** For tests with real sockets in real time, and deadlines on virtual time. */
import type { VirtualClock } from '../sim/virtual-clock.ts';
import { createNodeClock } from './clock.ts';

const ROUND_MS = 2;
/**
 * `QUIET_ROUNDS` consecutive rounds must be nearly idle before virtual time advances: work on real sockets meets no deadline only
 * because the machine is slow. In a process that is never idle it advances after `ROUNDS` rounds.
 */
const QUIET_ROUNDS = 100;
const ROUNDS = 5000;
const QUIET_US = 1000;

/** How the work ended. */
export type Settled<T> =
  | { readonly value: T; readonly error?: never }
  | { readonly value?: never; readonly error: Error };

/** Waits for `work`; when it does not end by itself, virtual time advances to its deadlines in steps of `stepMs`. */
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
