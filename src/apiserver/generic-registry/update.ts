/**
 * UPDATE of an object or one of its sub-resources: optimistic lock, strategy, validation, admission,
 * compare-and-swap, and the removal of a marked object without finalizers. Upstream: rest.BeforeUpdate, Store.Update.
 *
 * `next` computes the new object from the current one; it is repeated when another writer was faster and the request
 * does not require a revision.
 */
import { Field } from '../../api/field-error.ts';
import { finalizerNamesOf, validateObjectMetaUpdate } from '../../api/meta-validation.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { conflict, notFound } from '../../api/status-error.ts';
import { deepEqual } from '../../base/equal.ts';
import { requireVerb } from '../filters/authorization.ts';
import type { Strategy } from '../registry/resource-definition.ts';
import { LARGE_BYTES } from '../request-context.ts';
import type { RevisionCell } from '../watch-cache/revision-cell.ts';
import { createObject, ensureNamespaceMatches } from './create.ts';
import { repairManagedFields, trackDraft, trackFields } from './field-tracking.ts';
import { writeFromCache } from './freshness.ts';
import type { GenericStore, ObjectName } from './generic-store.ts';
import { removeObject, shouldDeleteDuringUpdate } from './remove.ts';
import { dropDuplicateOwners } from './owner-references.ts';
import { isSame } from './same-object.ts';
import { asStored, isInStoredForm } from './stored-form.ts';
import { invalidObject, strategyErrors } from './validation.ts';
import {
  admissionAttributes,
  canonical,
  type LostWrite,
  putObject,
  type WriteOutcome,
  type WriteRequest,
} from './write.ts';

export interface UpdateRequest extends WriteRequest, ObjectName {
  /** '' for the object itself. */
  readonly subresource: string;
  /** Computes the new object, a private draft, from the current one; undefined when there is none. */
  next(current: KubernetesObject | undefined): KubernetesObject | Promise<KubernetesObject>;
  /** Whether a missing object is created (apply). PUT does so only where the strategy allows it. */
  readonly createMissing?: boolean;
  /** True for patches: a lost race is repeated unless the patch itself has a resourceVersion. */
  readonly retriesConflicts: boolean;
  /** Whether the result of `next` has its managed fields already. */
  readonly tracksFields?: boolean;
}

/**
 * Each lost race means that another writer succeeded, so an end is reached; upstream's GuaranteedUpdate has no limit.
 */
const MAX_ATTEMPTS = 1000;

/** The strategy of the object or sub-resource. */
function strategyOf(store: GenericStore, subresource: string): Strategy<KubernetesObject> {
  if (subresource === '' || subresource === 'scale') return store.definition.strategy;
  const found = store.definition.objectSubresources?.[subresource];
  if (found === undefined) throw new Error(`no sub-resource ${subresource} of ${store.info.resource}`);
  return found.strategy;
}

/** Updates (or, where allowed, creates). Rejects with StatusErrors. */
export function updateObject(store: GenericStore, request: UpdateRequest): Promise<WriteOutcome> {
  const key = store.keyOf(request);
  return writeFromCache<WriteOutcome>(store, key, async (current, attempt) => {
    if (current === undefined) return await createMissing(store, request);
    const isLarge = current.byteLength > LARGE_BYTES;
    if (isLarge) request.context.isLarge = true;
    if (!isLarge || attempt === 1) return await tryOnce(store, request, { key, current, attempt });
    // Losers take turns: racing again would waste the work of all but one.
    return await store.largeRetries.run(key, () => {
      request.context.signal.throwIfAborted();
      const newest = store.cache.get(key);
      const isNewer = newest !== undefined && newest.revision > current.revision;
      return tryOnce(store, request, { key, current: isNewer ? newest : current, attempt });
    });
  });
}

async function tryOnce(
  store: GenericStore,
  request: UpdateRequest,
  { key, current, attempt }: Attempt & { readonly attempt: number },
): Promise<WriteOutcome | LostWrite> {
  const preparing = store.prepare([current]);
  if (preparing !== undefined) await preparing;
  const outcome = await tryUpdate(store, request, { key, current });
  if (!('lost' in outcome)) return outcome;
  const insists = outcome.insists || attempt >= MAX_ATTEMPTS;
  if (insists && outcome.current !== undefined) throw conflict(store.groupResource, request.name);
  return outcome;
}

async function createMissing(store: GenericStore, request: UpdateRequest): Promise<WriteOutcome> {
  const allowed =
    request.createMissing === true ||
    (!request.retriesConflicts && store.definition.strategy.allowCreateOnUpdate === true);
  if (!allowed || request.subresource !== '') throw notFound(store.groupResource, request.name);
  // Authorized before admission, which must not see objects that the user may not create.
  await requireVerb(store.services.authorizers, request.context, 'create');
  const draft = await request.next(undefined);
  const { uid } = draft.metadata;
  if (uid && request.createMissing === true) {
    throw conflict(
      store.groupResource,
      request.name,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    );
  }
  delete draft.metadata.resourceVersion;
  return await createObject(store, draft, request);
}

interface Attempt {
  readonly key: string;
  readonly current: RevisionCell;
}

type UpdateResult = WriteOutcome | (LostWrite & { readonly insists: boolean });

async function tryUpdate(
  store: GenericStore,
  request: UpdateRequest,
  { key, current }: Attempt,
): Promise<UpdateResult> {
  const old = store.object(current);
  const strategy = strategyOf(store, request.subresource);
  const made = request.next(old);
  const draft = made instanceof Promise ? await made : made;
  if (request.context.isLarge === true) await request.context.pause?.();
  const insists = checkRevision(store, request, { draft, old, strategy });
  if (!request.retriesConflicts) checkUid(store, key, { draft, old });
  carryOver(store, draft, { old, request });
  if (!request.retriesConflicts) dropDuplicateOwners(draft, 'request', request.context);
  const about = {
    operation: 'UPDATE',
    subresource: request.subresource,
    namespace: request.namespace,
    name: request.name,
    object: draft,
    oldObject: old,
  } as const;
  const attributes = admissionAttributes(store, request, about);
  if (tracksBefore(request)) {
    const tracking = trackDraft(store, { draft, live: old, manager: request.manager, context: request.context });
    if (tracking !== undefined) await tracking;
  }
  const { managedFields } = draft.metadata;
  if (request.context.isLarge === true) await request.context.pause?.();
  const mutating = store.services.admission.mutate(attributes);
  if (mutating !== undefined) await mutating;
  dropDuplicateOwners(draft, 'admission', request.context);
  repairManagedFields(draft, managedFields, request.context);
  if (request.context.isLarge === true) await request.context.pause?.();
  if (takesDefaults(store, request.subresource, { draft, old, current })) strategy.applyDefaults?.(draft);
  strategy.prepareForUpdate?.(draft, old, request.context);
  if (request.context.isLarge === true) await request.context.pause?.();
  const field = Field.named('metadata');
  const finalizers = strategy.finalizerNames ?? finalizerNamesOf(store.info.group);
  // What a sub-resource's writer sends as managed fields is read when the object is stored, and is none where it cannot be.
  const isTracked = request.tracksFields === true || tracksBefore(request);
  const metadata = isTracked ? draft.metadata : { ...draft.metadata, managedFields: old.metadata.managedFields };
  validateObjectMetaUpdate(metadata, { old: old.metadata, finalizers }, field);
  const found = strategyErrors(strategy, { draft, old, context: request.context });
  const errors = [...field.errors, ...(found instanceof Promise ? await found : found)];
  if (errors.length > 0) throw invalidObject(store, request.name, errors);
  for (const text of strategy.warnings?.(draft, old) ?? []) request.context.addWarning(text);
  if (request.context.isLarge === true) await request.context.pause?.();
  const validating = store.services.admission.validate(attributes);
  if (validating !== undefined) await validating;
  const outcome = await storeChange(store, request, { key, current, old, draft, strategy });
  return 'lost' in outcome ? { ...outcome, insists } : outcome;
}

/** An object that is read from another version has not the defaults of this one, nor gets them where nothing else changes. */
function takesDefaults(
  { definition }: GenericStore,
  subresource: string,
  { draft, old, current }: { draft: KubernetesObject; old: KubernetesObject; current: RevisionCell },
): boolean {
  if (subresource === 'scale') return false;
  if (definition.schema === undefined || old === current.object()) return true;
  return !deepEqual({ ...draft, metadata: undefined }, { ...old, metadata: undefined });
}

/**
 * Whether managed fields are tracked before the strategy. Strategies of sub-resources restore foreign fields: only
 * the remaining changes belong to the writer.
 */
function tracksBefore({ subresource, tracksFields }: UpdateRequest): boolean {
  return tracksFields !== true && subresource === '';
}

/**
 * Whether the request requires a revision. Throws 409 when it is not the current one, 422 when one is required but
 * missing.
 */
function checkRevision(
  store: GenericStore,
  request: UpdateRequest,
  { draft, old, strategy }: { draft: KubernetesObject; old: KubernetesObject; strategy: Strategy<KubernetesObject> },
): boolean {
  const expected = draft.metadata.resourceVersion ?? '';
  const newest = old.metadata.resourceVersion;
  if (expected === '' || expected === '0') {
    if (request.retriesConflicts || strategy.allowUnconditionalUpdate === true) {
      draft.metadata.resourceVersion = newest!;
      return false;
    }
    const text = 'Invalid value: 0: must be specified for an update';
    const cause = { reason: 'FieldValueInvalid', field: 'metadata.resourceVersion', text };
    // Upstream has the resource here in place of the kind.
    const { group, resource: kind } = store.info;
    throw invalidObject({ info: { group, kind } }, request.name, [cause]);
  }
  if (expected !== newest) throw conflict(store.groupResource, request.name);
  return !request.retriesConflicts;
}

function checkUid(
  store: GenericStore,
  key: string,
  { draft, old }: { draft: KubernetesObject; old: Stored<KubernetesObject> },
): void {
  const expected = draft.metadata.uid;
  if (expected === undefined || expected === '' || expected === old.metadata.uid) return;
  const why = `Precondition failed: UID in precondition: ${expected}, UID in object meta: ${old.metadata.uid}`;
  const text = `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`;
  throw conflict(store.groupResource, old.metadata.name, text);
}

/** Restores system fields that the update omits or must not set. Changed ones are refused by validation. */
function carryOver(
  store: GenericStore,
  draft: KubernetesObject,
  { old, request }: { old: KubernetesObject; request: UpdateRequest },
): void {
  ensureNamespaceMatches(store, draft, request.namespace);
  const { metadata } = draft;
  const from = old.metadata;
  if ((metadata.uid ?? '') === '') metadata.uid = from.uid!;
  metadata.creationTimestamp = from.creationTimestamp!;
  if (from.generation === undefined) delete metadata.generation;
  else metadata.generation = from.generation;
  if (from.deletionTimestamp !== undefined) metadata.deletionTimestamp = from.deletionTimestamp;
  if (from.deletionGracePeriodSeconds !== undefined)
    metadata.deletionGracePeriodSeconds ??= from.deletionGracePeriodSeconds;
  delete metadata.selfLink;
  draft.apiVersion = store.apiVersion;
  draft.kind = store.info.kind;
}

interface PreparedUpdate extends Attempt {
  readonly old: KubernetesObject;
  readonly draft: KubernetesObject;
  readonly strategy: Strategy<KubernetesObject>;
}

async function storeChange(
  store: GenericStore,
  request: UpdateRequest,
  ready: PreparedUpdate,
): Promise<WriteOutcome | LostWrite> {
  const { key, current, old, draft, strategy } = ready;
  const taken = strategy.allocate === undefined ? undefined : await strategy.allocate(draft, old, request.dryRun);
  let written = false;
  try {
    const next = canonical(store, draft, old);
    if (request.context.isLarge === true) await request.context.pause?.();
    const { manager, subresource, context } = request;
    const tracked =
      request.tracksFields === true || tracksBefore(request)
        ? next
        : trackFields(store, { live: old, next, manager, subresource, context });
    const object = tracked instanceof Promise ? await tracked : tracked;
    if (request.context.isLarge === true) await request.context.pause?.();
    if (shouldDeleteDuringUpdate(store, object, old)) {
      const removed = await removeObject(store, { key, current, object, request });
      written = !request.dryRun && !('lost' in removed);
      // Upstream answers with what was sent, not with the revision of the removal.
      return 'lost' in removed ? removed : { object, created: false };
    }
    if (isSame(object, old) && store.services.store.isStale?.(key) !== true) {
      if (await isInStoredForm(store, object, current)) return { object: old, cell: current, created: false };
    }
    if (request.dryRun) return { object: await asStored(store, object), created: false };
    if (request.context.isLarge === true) await request.context.pause?.();
    const outcome = await putObject(store, { key, object, expect: current.revision, created: false, request });
    written = !('lost' in outcome);
    return outcome;
  } finally {
    if (written) taken?.commit();
    else taken?.rollback();
  }
}
