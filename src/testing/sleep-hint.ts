/**
 * A test that sleeps really while its cluster is on a virtual clock looks at objects that never move. It is told so, once.
 */
import type { Clock } from '../platform/clock.ts';

/** Real idleness in which the virtual clock stood still, from which on a test is told. */
const SLEPT_MS = 1000;

/** Calls that let time pass, or end it: before them a test may well have waited for something real. */
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

/** What the hint is made of. */
export interface SleepHintDeps {
  readonly clock: Clock;
  /** Idle time of the real event loop since its start. */
  readonly idleMs: () => number;
  readonly warn: (message: string) => void;
}

/** Made for a virtual clock. The result is called before each call of the test. */
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
