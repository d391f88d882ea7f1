/** DELETE of one object and of collections. Upstream: genericregistry.Store.Delete and DeleteCollection. */
import type { DeleteOptions } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { conflict, notFound, ignoreNotFound } from '../../api/status-error.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import { planDeletion } from './deletion.ts';
import { writeFromCache } from './freshness.ts';
import type { GenericStore, ObjectName } from './generic-store.ts';
import { removeObject } from './remove.ts';
import { admissionAttributes, putObject, type WriteRequest } from './write.ts';

export interface DeleteRequest extends WriteRequest, ObjectName {
  readonly options: DeleteOptions;
}

/** The remaining object, or the last state of a removed one. */
export interface DeleteOutcome {
  readonly object: KubernetesObject;
  /** Whether the object was removed. */
  readonly removed: boolean;
}

const MAX_ATTEMPTS = 50;
const COLLECTION_WORKERS = 8;

/** Deletes one object. Rejects with 404, 409 and refusals of admission. */
export async function deleteObject(store: GenericStore, request: DeleteRequest): Promise<DeleteOutcome> {
  const key = store.keyOf(request);
  return await writeFromCache<DeleteOutcome>(store, key, async (current, attempt) => {
    if (current === undefined) throw notFound(store.groupResource, request.name);
    const preparing = store.prepare([current]);
    if (preparing !== undefined) await preparing;
    const outcome = await tryDelete(store, request, { key, current });
    if ('lost' in outcome && attempt === MAX_ATTEMPTS) throw conflict(store.groupResource, request.name);
    return outcome;
  });
}

async function tryDelete(
  store: GenericStore,
  request: DeleteRequest,
  { key, current }: { key: string; current: RevisionCell },
): Promise<DeleteOutcome | { lost: true; current: RevisionCell | undefined }> {
  const old = store.object(current);
  const plan = planDeletion(store, old, { options: request.options, nowMs: store.services.clock.nowMs() });
  const about = {
    operation: 'DELETE',
    subresource: '',
    namespace: request.namespace,
    name: request.name,
    oldObject: old,
  } as const;
  const attributes = admissionAttributes(store, request, about);
  const mutating = store.services.admission.mutate(attributes);
  if (mutating !== undefined) await mutating;
  const validating = store.services.admission.validate(attributes);
  if (validating !== undefined) await validating;
  if (plan.kind === 'pending') return { object: old, removed: false };
  if (plan.kind === 'mark') {
    if (request.dryRun) return { object: plan.object, removed: false };
    const outcome = await putObject(store, {
      key,
      object: plan.object,
      expect: current.revision,
      created: false,
      request,
    });
    return 'lost' in outcome ? outcome : { object: outcome.object, removed: false };
  }
  const outcome = await removeObject(store, { key, current, object: plan.object ?? old, request });
  return 'lost' in outcome ? outcome : { object: outcome.object, removed: true };
}

/**
 * Deletes the given objects, several concurrently; objects deleted by others in the meantime are no error. Rejects
 * with the first error.
 */
export async function deleteObjects(
  store: GenericStore,
  names: readonly ObjectName[],
  request: WriteRequest & { options: DeleteOptions },
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < names.length) {
      const name = names[next++]!;
      await deleteObject(store, { ...request, ...name }).catch(ignoreNotFound);
    }
  };
  await Promise.all(Array.from({ length: Math.min(COLLECTION_WORKERS, names.length) }, work));
}
