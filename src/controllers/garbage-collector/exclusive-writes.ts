import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: it deletes, and takes finalizers and owners off, on behalf of all. */
export const garbageCollectorWrites: ExclusiveWrites = { account: 'generic-garbage-collector', writes: [] };
