/**
 * CREATE: names, system fields, admission, strategy, validation, allocation, and a write that fails if the object
 * exists. Upstream: rest.BeforeCreate and genericregistry.Store.Create.
 */
import { Field } from '../../api/field-error.ts';
import { finalizerNamesOf, validateObjectMeta } from '../../api/meta-validation.ts';
import { nameIsDnsSubdomain } from '../../api/name-checks.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { alreadyExists, badRequest, type FieldCause } from '../../api/status-error.ts';
import { repairManagedFields, trackDraft } from './field-tracking.ts';
import { mayBeOld, readNow } from './freshness.ts';
import type { GenericStore } from './generic-store.ts';
import { dropDuplicateOwners } from './owner-references.ts';
import { asStored } from './stored-form.ts';
import { invalidObject, strategyErrors } from './validation.ts';
import { admissionAttributes, canonical, nowText, putObject, type WriteOutcome, type WriteRequest } from './write.ts';

const SUFFIX_LENGTH = 5;
const MAX_NAME_LENGTH = 63;
/** As upstream since 1.32. */
const NAME_ATTEMPTS = 8;

/** Sets the request's namespace where the object has none. Throws 400 when they differ. */
export function ensureNamespaceMatches(store: GenericStore, object: KubernetesObject, requested: string): void {
  const namespace = store.info.namespaced ? requested : '';
  const own = object.metadata.namespace ?? '';
  if (own === namespace) return;
  if (own !== '' && namespace !== '') {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (namespace === '') delete object.metadata.namespace;
  else object.metadata.namespace = namespace;
}

function generateName(store: GenericStore, prefix: string): string {
  return prefix.slice(0, MAX_NAME_LENGTH - SUFFIX_LENGTH) + store.services.random.nameSuffix(SUFFIX_LENGTH);
}

/** Clears the fields that only the server sets, before admission and managed fields see them. */
function wipeSystemFields({ metadata }: KubernetesObject): void {
  delete metadata.uid;
  delete metadata.creationTimestamp;
  delete metadata.deletionTimestamp;
  delete metadata.deletionGracePeriodSeconds;
  delete metadata.selfLink;
}

function fillSystemFields(store: GenericStore, draft: KubernetesObject): void {
  wipeSystemFields(draft);
  const { metadata } = draft;
  metadata.uid = store.services.random.uuid();
  metadata.creationTimestamp = nowText(store);
  delete metadata.resourceVersion;
  draft.apiVersion = store.apiVersion;
  draft.kind = store.info.kind;
}

function metadataErrors(store: GenericStore, draft: KubernetesObject): readonly FieldCause[] {
  const { strategy } = store.definition;
  const field = Field.named('metadata');
  const validateName = strategy.validateName?.bind(strategy) ?? nameIsDnsSubdomain;
  const finalizers = strategy.finalizerNames ?? finalizerNamesOf(store.info.group);
  validateObjectMeta(draft.metadata, { namespaced: store.info.namespaced, validateName, finalizers }, field);
  return field.errors;
}

export interface CreateRequest extends WriteRequest {
  readonly namespace: string;
  /** Whether the draft's managed fields are already set (apply). */
  readonly tracksFields?: boolean;
}

/** Creates the object. `draft` is decoded and not shared; rejects with StatusErrors. */
export async function createObject(
  store: GenericStore,
  draft: KubernetesObject,
  request: CreateRequest,
): Promise<WriteOutcome> {
  const { strategy } = store.definition;
  const { admission } = store.services;
  const { resourceVersion = '' } = draft.metadata;
  ensureNamespaceMatches(store, draft, request.namespace);
  wipeSystemFields(draft);
  if (request.tracksFields !== true) dropDuplicateOwners(draft, 'request', request.context);
  const about = {
    operation: 'CREATE',
    subresource: '',
    namespace: request.namespace,
    name: draft.metadata.name ?? '',
    object: draft,
  } as const;
  const attributes = admissionAttributes(store, request, about);
  if (request.tracksFields !== true) {
    const tracking = trackDraft(store, { draft, live: undefined, manager: request.manager, context: request.context });
    if (tracking !== undefined) await tracking;
  }
  const { managedFields } = draft.metadata;
  if (request.context.isLarge === true) await request.context.pause?.();
  const mutating = admission.mutate(attributes);
  if (mutating !== undefined) {
    await mutating;
    ensureNamespaceMatches(store, draft, request.namespace);
  }
  dropDuplicateOwners(draft, 'admission', request.context);
  request.context.trace?.mark('mutating admission');
  repairManagedFields(draft, managedFields, request.context);
  if (request.context.isLarge === true) await request.context.pause?.();
  strategy.applyDefaults?.(draft);
  fillSystemFields(store, draft);
  const prefix = draft.metadata.name ? '' : (draft.metadata.generateName ?? '');
  if (prefix !== '') draft.metadata.name = generateName(store, prefix);
  strategy.prepareForCreate?.(draft, request.context);
  if (request.context.isLarge === true) await request.context.pause?.();
  const found = strategyErrors(strategy, { draft, old: undefined, context: request.context });
  const errors = [...metadataErrors(store, draft), ...(found instanceof Promise ? await found : found)];
  if (errors.length > 0) throw invalidObject(store, draft.metadata.name ?? '', errors);
  for (const text of strategy.warnings?.(draft, undefined) ?? []) request.context.addWarning(text);
  if (request.context.isLarge === true) await request.context.pause?.();
  request.context.trace?.mark('defaults and validation');
  const validating = admission.validate(
    prefix === '' ? attributes : { ...attributes, name: draft.metadata.name ?? '' },
  );
  if (validating !== undefined) await validating;
  request.context.trace?.mark('validating admission');
  // The last check, as in upstream's storage, which a dry run does not reach.
  if (resourceVersion !== '' && !request.dryRun)
    throw badRequest('resourceVersion should not be set on objects to be created');
  const work = { ...request, prefix };
  const outcome = await (strategy.allocate === undefined
    ? storeNew(store, draft, work)
    : allocateAndStore(store, draft, work));
  request.context.trace?.created(outcome.object, request.dryRun);
  return outcome;
}

async function allocateAndStore(
  store: GenericStore,
  draft: KubernetesObject,
  request: CreateRequest & { prefix: string },
): Promise<WriteOutcome> {
  const { strategy } = store.definition;
  const taken = await strategy.allocate?.(draft, undefined, request.dryRun);
  let stored = false;
  try {
    const outcome = await storeNew(store, draft, request);
    stored = !request.dryRun;
    return outcome;
  } finally {
    if (stored) taken?.commit();
    else taken?.rollback();
  }
}

async function storeNew(
  store: GenericStore,
  draft: KubernetesObject,
  request: CreateRequest & { prefix: string },
): Promise<WriteOutcome> {
  if (request.context.isLarge === true) await request.context.pause?.();
  const next = canonical(store, draft);
  if (request.context.isLarge === true) await request.context.pause?.();
  for (let attempt = 1; ; attempt++) {
    const name = draft.metadata.name ?? '';
    const object = attempt === 1 ? next : { ...next, metadata: { ...next.metadata, name } };
    const key = store.keyOf({ namespace: draft.metadata.namespace ?? '', name });
    const exists = store.cache.get(key) !== undefined;
    const taken = exists && mayBeOld(store) ? (await readNow(store, key)) !== undefined : exists;
    if (!taken && request.dryRun) return { object: await asStored(store, object), created: true };
    const outcome = taken ? undefined : await putObject(store, { key, object, expect: 0, created: true, request });
    if (outcome !== undefined && !('lost' in outcome)) return outcome;
    if (request.prefix === '' || attempt === NAME_ATTEMPTS) throw alreadyExists(store.groupResource, name);
    draft.metadata.name = generateName(store, request.prefix);
  }
}
