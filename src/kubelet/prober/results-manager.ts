/** The newest probe results, with a callback for changes. Upstream: pkg/kubelet/prober/results/results_manager.go. */
import type { Log } from '../../platform/log.ts';
import { callEach } from '../../platform/unexpected.ts';
import type { ProbeResult, ProbeResults, ProbeType, ProbeUpdate } from './results.ts';

/** Results that can be written. */
export interface ResultsManager extends ProbeResults {
  /** Stores a result and calls the listeners when it differs from the previous one. */
  set(update: ProbeUpdate): void;
  remove(type: ProbeType, containerId: string): void;
  /** Listeners run in the turn of the change, in order. */
  onUpdate(listener: (update: ProbeUpdate) => void): void;
}

export function createResultsManager(log: Log): ResultsManager {
  const results = new Map<string, ProbeResult>();
  const listeners: ((update: ProbeUpdate) => void)[] = [];
  const keyOf = (type: ProbeType, containerId: string): string => `${type}/${containerId}`;
  return {
    get: (type, containerId) => results.get(keyOf(type, containerId)),
    set(update) {
      const key = keyOf(update.type, update.containerId);
      if (results.get(key) === update.result) return;
      results.set(key, update.result);
      callEach({ log, what: 'a probe result could not be taken' }, listeners, update);
    },
    remove: (type, containerId) => results.delete(keyOf(type, containerId)),
    onUpdate: (listener) => listeners.push(listener),
  };
}
