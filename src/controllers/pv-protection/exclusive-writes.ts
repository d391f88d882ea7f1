import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: admission sets the finalizer, it takes it off. */
export const pvProtectionWrites: ExclusiveWrites = { account: 'pv-protection-controller', writes: [] };
