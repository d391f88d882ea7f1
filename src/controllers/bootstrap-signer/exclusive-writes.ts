import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing that others never touch: `cluster-info` of kube-public is people's, the signatures in it are its own by their keys. */
export const bootstrapSignerWrites: ExclusiveWrites = { account: 'bootstrap-signer', writes: [] };
