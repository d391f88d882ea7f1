import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: a pod's last state is its kubelet's, while there is one. */
export const podGarbageCollectorWrites: ExclusiveWrites = { account: 'pod-garbage-collector', writes: [] };
