import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: it deletes pods, and says why on them before. */
export const taintEvictionWrites: ExclusiveWrites = { account: 'node-controller', writes: [] };
