import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: it deletes expired tokens. */
export const tokenCleanerWrites: ExclusiveWrites = { account: 'token-cleaner', writes: [] };
