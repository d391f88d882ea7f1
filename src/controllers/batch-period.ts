/**
 * How long the sync of an owner with many pods waits for further changes, since each sync visits all its pods.
 * Upstream: --endpoint-updates-batch-period and --endpointslice-updates-batch-period, 0 for every Service unless set.
 * Differs on purpose: a Service with hundreds of pods waits in proportion to their number, so that syncs take a small
 * share of the time while its pods change; smaller ones do not wait.
 */
const FROM_PODS = 100;
const MS_PER_POD = 0.1;
const MAX_MS = 500;

/** The periods of all owners, by their number of pods at the last sync. */
export interface BatchPeriods {
  /** Records that this many pods were visited. */
  saw(key: string, pods: number): void;
  ms(key: string): number;
  forget(key: string): void;
}

export function createBatchPeriods(): BatchPeriods {
  const sizes = new Map<string, number>();
  return {
    saw(key, pods) {
      if (pods < FROM_PODS) sizes.delete(key);
      else sizes.set(key, pods);
    },
    ms: (key) => Math.min((sizes.get(key) ?? 0) * MS_PER_POD, MAX_MS),
    forget: (key) => sizes.delete(key),
  };
}
