/** The interface of every proxy mode: it keeps the kernel's rules in the desired state. */
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
  /** Reports possible changes. */
  kick(): void;
  /** Runs until the signal aborts; resolves after the last transaction. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  /** Resolves after the first successful rewrite. */
  readonly synced: Promise<void>;
  /** Whether the last transaction succeeded. */
  healthy(): boolean;
  /** Removes the rules. Rejects when a program fails. Call it after `run` has resolved. */
  remove(): Promise<void>;
}
