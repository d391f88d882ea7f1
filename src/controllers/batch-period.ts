/**
 * How long a change of one of many pods waits for more of them, where a sync looks at all. Upstream:
 * --endpoint-updates-batch-period and --endpointslice-updates-batch-period, 0 for every Service unless set. Differs on
 * purpose: a Service of hundreds of pods waits in proportion to them, so that what syncs take stays a small share of the
 * time while its pods come or go; a smaller one does not wait at all.
 */
const FROM_PODS = 100;
const MS_PER_POD = 0.1;
const MAX_MS = 500;

/** The periods of all owners, by how many pods they had last. */
export interface BatchPeriods {
  /** Records that this many pods were visited. */
  saw(key: string, pods: number): void;
  ms(key: string): number;
  forget(key: string): void;
}

/** Makes those of one controller. */
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
