import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing but events. */
export const persistentVolumeExpanderWrites: ExclusiveWrites = { account: 'expand-controller', writes: [] };
