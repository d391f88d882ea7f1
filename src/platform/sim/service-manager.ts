/** A service manager that records its messages. */
import type { ServiceManager } from '../service-manager.ts';

export interface SimServiceManager extends ServiceManager {
  /** Undefined: it does not watch. */
  watchdogPeriodMs: number | undefined;
  /** States it has received, oldest first. */
  readonly heard: string[];
}

/** Makes one that does not watch. */
export function createSimServiceManager(): SimServiceManager {
  const made: SimServiceManager = {
    watchdogPeriodMs: undefined,
    heard: [],
    watchdogMs: () => made.watchdogPeriodMs,
    notify: async (state) => void made.heard.push(state),
  };
  return made;
}
