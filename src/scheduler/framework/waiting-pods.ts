/**
 * Pods that wait at Permit: allowed by all plugins, rejected by one, or timed out. Upstream:
 * runtime/waiting_pods_map.go.
 */
import { onAbort } from '../../base/abort.ts';
import type { Clock } from '../../platform/clock.ts';
import { failed, unschedulable, type Status } from './status.ts';

/** A waiting pod as plugins see it. */
export interface WaitingPod {
  readonly uid: string;
  readonly pendingPlugins: readonly string[];
  allow(plugin: string): void;
  reject(plugin: string, message: string): void;
}

export interface WaitingPods {
  get(uid: string): WaitingPod | undefined;
  all(): readonly WaitingPod[];
  /** Resolves to undefined when the pod is allowed, or to the rejection. `timeouts`: milliseconds by plugin. */
  wait(uid: string, timeouts: ReadonlyMap<string, number>, signal: AbortSignal): Promise<Status | undefined>;
}

export function createWaitingPods(clock: Clock): WaitingPods {
  const waiting = new Map<string, WaitingPod>();
  return {
    get: (uid) => waiting.get(uid),
    all: () => [...waiting.values()],
    wait(uid, timeouts, signal) {
      const pending = new Set(timeouts.keys());
      const { promise, resolve } = Promise.withResolvers<Status | undefined>();
      const timers = [...timeouts].map(([plugin, ms]) =>
        clock.setTimer(ms, () =>
          resolve(unschedulable(plugin, `rejected due to timeout after waiting ${ms / 1000}s at plugin ${plugin}`)),
        ),
      );
      const unhook = onAbort(signal, () => resolve(failed('Permit', signal.reason)));
      waiting.set(uid, {
        uid,
        get pendingPlugins() {
          return [...pending];
        },
        allow(plugin) {
          pending.delete(plugin);
          if (pending.size === 0) resolve(undefined);
        },
        reject: (plugin, message) => resolve(unschedulable(plugin, message)),
      });
      return promise.finally(() => {
        for (const cancel of timers) cancel();
        unhook();
        waiting.delete(uid);
      });
    },
  };
}
