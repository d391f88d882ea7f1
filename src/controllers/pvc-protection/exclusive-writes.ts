import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: admission sets the finalizer, it takes it off. */
export const pvcProtectionWrites: ExclusiveWrites = { account: 'pvc-protection-controller', writes: [] };
