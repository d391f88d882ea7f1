/** Newest probe results, and a call for each that changed. Upstream: pkg/kubelet/prober/results/results_manager.go. */
import type { ProbeResult, ProbeResults, ProbeType, ProbeUpdate } from './results.ts';

/** Results that can be written. */
export interface ResultsManager extends ProbeResults {
  /** Stores a result; listeners hear of it only when it differs from the one before. */
  set(update: ProbeUpdate): void;
  remove(type: ProbeType, containerId: string): void;
  /** Listeners run in the turn of the change, in order. */
  onUpdate(listener: (update: ProbeUpdate) => void): void;
}

/** Makes an empty store of results. */
export function createResultsManager(): ResultsManager {
  const results = new Map<string, ProbeResult>();
  const listeners: ((update: ProbeUpdate) => void)[] = [];
  const keyOf = (type: ProbeType, containerId: string): string => `${type}/${containerId}`;
  return {
    get: (type, containerId) => results.get(keyOf(type, containerId)),
    set(update) {
      const key = keyOf(update.type, update.containerId);
      if (results.get(key) === update.result) return;
      results.set(key, update.result);
      for (const listener of listeners) listener(update);
    },
    remove: (type, containerId) => void results.delete(keyOf(type, containerId)),
    onUpdate: (listener) => void listeners.push(listener),
  };
}
