/** Whether runtime and network are ready, for the sync loop and node status. Upstream: pkg/kubelet/runtime.go. */
import type { Clock } from '../../platform/clock.ts';

export interface RuntimeState {
  setRuntimeSync(): void;
  /** Undefined clears it. */
  setRuntimeState(problem: string | undefined): void;
  setNetworkState(problem: string | undefined): void;
  /** A named check that may fail, e.g. the PLEG's. */
  addHealthCheck(name: string, problem: () => string | undefined): void;
  /** Problems that keep pods from being synced. */
  runtimeErrors(): readonly string[];
  networkErrors(): readonly string[];
}

/**
 * Initially nothing is known to be ready. `thresholdMs`: time without a successful check after which the runtime
 * counts as down.
 */
export function createRuntimeState(clock: Clock, thresholdMs = 30_000): RuntimeState {
  let lastRuntimeSyncMs: number | undefined;
  let runtimeProblem: string | undefined;
  let networkProblem: string | undefined = 'network state unknown';
  const checks: { name: string; problem: () => string | undefined }[] = [];
  return {
    setRuntimeSync: () => {
      lastRuntimeSyncMs = clock.monotonicMs();
    },
    setRuntimeState: (problem) => {
      runtimeProblem = problem;
    },
    setNetworkState: (problem) => {
      networkProblem = problem;
    },
    addHealthCheck: (name, problem) => checks.push({ name, problem }),
    runtimeErrors() {
      const errors: string[] = [];
      if (lastRuntimeSyncMs === undefined) errors.push('container runtime status check may not have completed yet');
      else if (clock.monotonicMs() - lastRuntimeSyncMs > thresholdMs) errors.push('container runtime is down');
      for (const { name, problem } of checks) {
        const text = problem();
        if (text !== undefined) errors.push(`${name} is not healthy: ${text}`);
      }
      if (runtimeProblem !== undefined) errors.push(runtimeProblem);
      return errors;
    },
    networkErrors: () => (networkProblem === undefined ? [] : [networkProblem]),
  };
}
