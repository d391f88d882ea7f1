import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: taints are shared with people and the kubelet, conditions with the kubelet that comes back. */
export const nodeLifecycleWrites: ExclusiveWrites = { account: 'node-controller', writes: [] };
