import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: it deletes jobs that are over. */
export const ttlAfterFinishedWrites: ExclusiveWrites = { account: 'ttl-after-finished-controller', writes: [] };
