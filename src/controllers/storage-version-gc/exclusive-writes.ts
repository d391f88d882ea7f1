import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Nothing: the API servers write into StorageVersions themselves. */
export const storageVersionGcWrites: ExclusiveWrites = { account: 'storage-version-garbage-collector', writes: [] };
