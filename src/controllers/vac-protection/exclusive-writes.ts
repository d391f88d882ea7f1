import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: admission sets the finalizer, it takes it off. */
export const vacProtectionWrites: ExclusiveWrites = {
  account: 'volumeattributesclass-protection-controller',
  writes: [],
};
