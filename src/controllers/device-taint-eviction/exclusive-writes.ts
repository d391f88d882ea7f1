import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: it deletes pods, and says why on them before. */
export const deviceTaintEvictionWrites: ExclusiveWrites = { account: 'device-taint-eviction-controller', writes: [] };
