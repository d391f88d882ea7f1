/**
 * Checks a remote store every few seconds, for health checks, which must not wait for it. A store in this process is
 * checked through its watch. Upstream: the etcd health check, with its two seconds.
 */
import type { Clock } from '../platform/clock.ts';
import type { Store } from '../storage/store.ts';

const PERIOD_MS = 2_000;

export interface StoreProbe {
  /** The reason why the store cannot be used; undefined when it can. */
  problem(): string | undefined;
  /** Starts the checks; the result stops them. */
  start(): () => void;
}

/** Sends nothing before `start`. */
export function createStoreProbe(deps: { readonly store: Store; readonly clock: Clock }): StoreProbe {
  const { store, clock } = deps;
  let asking = false;
  let problem: string | undefined;
  const ask = (): void => {
    if (asking) {
      problem = `the store has not answered for ${PERIOD_MS / 1000} s`;
      return;
    }
    asking = true;
    const answered = (text: string | undefined): void => {
      asking = false;
      problem = text;
    };
    store.latestRevision!().then(
      () => answered(undefined),
      (error: unknown) => answered((error as Error).message),
    );
  };
  return {
    problem: () => problem,
    start: () => (store.latestRevision === undefined ? () => undefined : clock.setTicker(PERIOD_MS, ask)),
  };
}
