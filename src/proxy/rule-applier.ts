/** The contract of every proxy mode: it keeps the kernel's rules in the desired state. */
import type { Clock } from '../platform/clock.ts';
import type { Exec } from '../platform/exec.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';

export interface ApplierDeps {
  readonly exec: Exec;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
}

export interface RuleApplier {
  /** There may be changes. */
  kick(): void;
  /** Works until the signal aborts; resolves when the last transaction is over. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves after the first successful rewrite. */
  readonly synced: Promise<void>;
  /** Whether the last transaction succeeded. */
  healthy(): boolean;
  /** Removes the rules. Rejects when a program fails. Call after the run has ended. */
  remove(): Promise<void>;
}
