/**
 * The order in which a pod's containers are stopped: normal ones at once, each sidecar after all normal ones and all
 * later sidecars. Upstream: kuberuntime_termination_order.go.
 */
import { sidecarsOf } from '../../api/pod-containers.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { sleepUnlessAborted, type Clock } from '../../platform/clock.ts';
import { createDeferred, type Deferred } from '../../base/deferred.ts';

/** Makes containers wait for their turn to be stopped. */
export interface TerminationOrdering {
  /** Resolves at the container's turn, or after `graceSeconds`; to the seconds waited. */
  waitForTurn(name: string, graceSeconds: number): Promise<number>;
  /** Reports that a container has stopped. */
  containerTerminated(name: string): void;
}

/** The ordering of one pod; `running`: the containers that are still to stop. */
export function createTerminationOrdering(pod: Pod, running: readonly string[], clock: Clock): TerminationOrdering {
  const ended = new Map<string, Deferred<void>>(running.map((name) => [name, createDeferred<void>()]));
  const sidecars = sidecarsOf(pod.spec).map((container) => container.name);
  const normal = (pod.spec?.containers ?? []).map((container) => container.name);

  const before = (name: string): readonly string[] => {
    const index = sidecars.indexOf(name);
    return index < 0 ? [] : [...normal, ...sidecars.slice(index + 1)];
  };

  return {
    async waitForTurn(name, graceSeconds) {
      const waits = before(name)
        .map((other) => ended.get(other)?.promise)
        .filter((promise) => promise !== undefined);
      if (waits.length === 0 || graceSeconds <= 0) return 0;
      const startMs = clock.monotonicMs();
      const controller = new AbortController();
      const timeUp = sleepUnlessAborted(clock, graceSeconds * 1000, controller.signal);
      await Promise.race([Promise.all(waits), timeUp]);
      controller.abort();
      return Math.floor((clock.monotonicMs() - startMs) / 1000);
    },
    containerTerminated: (name) => ended.get(name)?.resolve(),
  };
}
