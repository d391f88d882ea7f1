import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: nodes are deleted by people, too, and taints stand in one list with others'. */
export const cloudNodeLifecycleWrites: ExclusiveWrites = { account: 'node-controller', writes: [] };
