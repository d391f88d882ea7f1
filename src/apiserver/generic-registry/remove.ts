/** Removes an object from the store, with everything that follows. */
import type { KubernetesObject } from '../../api/object.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import { RevisionCell as Cell } from '../watch-cache/revision-cell.ts';
import type { GenericStore } from './generic-store.ts';
import { type LostWrite, recordAuthor, type WriteOutcome, type WriteRequest } from './write.ts';

/**
 * Whether an update removes the last finalizer of an object marked for deletion. Upstream: ShouldDeleteDuringUpdate.
 */
export function shouldDeleteDuringUpdate(
  store: GenericStore,
  object: KubernetesObject,
  old: KubernetesObject,
): boolean {
  if (old.metadata.deletionTimestamp === undefined || (object.metadata.finalizers ?? []).length > 0) return false;
  if (store.definition.strategy.blocksDeletion?.(object) === true) return false;
  return (old.metadata.deletionGracePeriodSeconds ?? 0) === 0;
}

/** Removes the object if it still equals `current`; the outcome has the removed object. */
export async function removeObject(
  store: GenericStore,
  what: {
    readonly key: string;
    readonly current: RevisionCell;
    readonly object: KubernetesObject;
    /** Absent for the server's own deletions. */
    readonly request: Pick<WriteRequest, 'context' | 'manager' | 'dryRun'> | undefined;
  },
): Promise<WriteOutcome | LostWrite> {
  const { key, current, object, request } = what;
  if (request?.dryRun === true) return { object, created: false };
  const result = await store.services.store.delete({ key, expectRevision: current.revision });
  if (!result.ok) {
    return { lost: true, current: result.current && new Cell(key, result.current.modRevision, result.current.value) };
  }
  recordAuthor(store, { key, revision: result.revision, verb: 'delete' }, request);
  const gone = { ...object, metadata: { ...object.metadata, resourceVersion: String(result.revision) } };
  return { object: gone, created: false };
}
