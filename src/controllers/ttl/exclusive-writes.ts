import type { ExclusiveWrites } from '../exclusive-write.ts';

/** The annotation, which stands beside others' in one map: that is nobody's alone. */
export const ttlWrites: ExclusiveWrites = { account: 'ttl-controller', writes: [] };
