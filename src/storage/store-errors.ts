/** Errors that all stores throw alike. */
import { StoreError } from './store.ts';

export function compactedError(revision: number, compactedRevision: number): StoreError {
  return new StoreError('compacted', `revision ${revision} was compacted: the oldest kept is ${compactedRevision}`);
}

export function futureError(revision: number, current: number): StoreError {
  return new StoreError('futureRevision', `revision ${revision} is in the future: the store is at ${current}`);
}

export function closedError(): StoreError {
  return new StoreError('closed', 'the store is closed');
}
