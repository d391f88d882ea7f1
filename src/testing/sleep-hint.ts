/** Warns a test, once, that sleeps in real time while its cluster is on a virtual clock and therefore does not change. */
import type { Clock } from '../platform/clock.ts';

/** The real idle time, with the virtual clock standing, after which a test is warned. */
const SLEPT_MS = 1000;

/** Calls that advance time or end the cluster; before them a test may have waited for a real event. */
const MOVING_CALLS = new Set([
  'advance',
  'waitFor',
  'eventually',
  'settle',
  'stop',
  'snapshot',
  'restore',
  'listen',
  'kubeconfig',
]);

export interface SleepHintDeps {
  readonly clock: Clock;
  /** The idle time of the real event loop since its start. */
  readonly idleMs: () => number;
  readonly warn: (message: string) => void;
}

/** For a virtual clock. The returned function is called before each call of the test. */
export function createSleepHint({ clock, idleMs, warn }: SleepHintDeps): (call: string) => void {
  let movedAtMs = clock.monotonicMs();
  let idleThenMs = idleMs();
  let warned = false;
  return (call) => {
    if (warned) return;
    const hasMoved = clock.monotonicMs() !== movedAtMs;
    const sleptMs = idleMs() - idleThenMs;
    if (hasMoved || MOVING_CALLS.has(call)) {
      movedAtMs = clock.monotonicMs();
      idleThenMs = idleMs();
      return;
    }
    if (sleptMs < SLEPT_MS) return;
    warned = true;
    const seconds = (sleptMs / 1000).toFixed(1);
    warn(
      `the test waited ${seconds} s of real time before ${call}, and the cluster's virtual clock stood still: ` +
        `nothing happens in it until the test awaits cluster.waitFor(...) or cluster.advance('${Math.ceil(sleptMs / 1000)}s'). ` +
        `For real time: Cluster.start({ clock: 'real' })`,
    );
  };
}
