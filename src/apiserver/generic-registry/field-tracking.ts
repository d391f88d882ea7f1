/**
 * Keeps managed fields up to date on writes. Upstream: the field manager behind each request scope, with the reset
 * fields of the strategies: `status` belongs to the status sub-resource, everything else to the object.
 */
import { canonicalize } from '../../api/codec/canonical.ts';
import type { JsonObject } from '../../api/codec/own-property.ts';
import type { ManagedFieldsEntry } from '../../api/gen/meta-v1.ts';
import { type ApplyResult, applySteps } from '../../api/managed-fields/apply.ts';
import {
  createdEntries,
  type FieldManagerRequest,
  updatedEntriesSteps,
} from '../../api/managed-fields/field-manager.ts';
import { type FieldSet, leaf } from '../../api/managed-fields/field-set.ts';
import { withManaged } from '../../api/managed-fields/managed-entries.ts';
import { readManagers } from '../../api/managed-fields/managers.ts';
import { jsonOf, type KubernetesObject, objectOf } from '../../api/object.ts';
import { allSteps, stepByStep, type Steps } from '../../base/steps.ts';
import type { RequestContext } from '../request-context.ts';
import type { GenericStore } from './generic-store.ts';
import { nowText } from './write.ts';

const statusFields: FieldSet = { 'f:status': leaf };
const specFields: FieldSet = { 'f:spec': leaf };

function resetFieldsOf(store: GenericStore, subresource: string): FieldSet | undefined {
  const { strategy, objectSubresources } = store.definition;
  const { resetFields } = objectSubresources?.[subresource]?.strategy ?? strategy;
  if (resetFields !== undefined) return resetFields;
  if (subresource === 'status') return specFields;
  return objectSubresources?.['status'] === undefined ? undefined : statusFields;
}

function requestOf(store: GenericStore, manager: string, subresource: string): FieldManagerRequest {
  const resetFields = resetFieldsOf(store, subresource);
  return {
    schema: store.schema,
    manager,
    apiVersion: store.apiVersion,
    subresource,
    // Upstream converts the entries of a Scale, which loses their times.
    time: subresource === 'scale' ? undefined : nowText(store),
    resetFields,
    // A Scale has one form, whatever the version of its object.
    versions: subresource === 'scale' ? undefined : store.definition.versions,
    // Upstream resets fields of custom resources in the version of the request alone, but for their status.
    otherResetFields: subresource === 'status' || store.definition.schema === undefined ? resetFields : undefined,
  };
}

/** The result of steps: at once, or, for a large object, with others' turns between them. */
function runSteps<T>(context: RequestContext, steps: Steps<T>): T | Promise<T> {
  const isStepped = context.isLarge === true && context.pause !== undefined;
  return isStepped ? stepByStep(steps, () => context.pause?.()) : allSteps(steps);
}

/** A change whose fields are to be tracked. */
export interface TrackedChange {
  readonly live: KubernetesObject | undefined;
  readonly next: KubernetesObject;
  readonly manager: string;
  readonly subresource: string;
  readonly context: RequestContext;
}

type Entries = readonly ManagedFieldsEntry[];

function updatedEntries(
  store: GenericStore,
  { live, next, manager, subresource, context }: TrackedChange,
): Entries | Promise<Entries> {
  const request = requestOf(store, manager, subresource);
  return runSteps(context, updatedEntriesSteps(live as JsonObject | undefined, jsonOf(next), request));
}

/** The object with its managed fields after an update by `manager`. A promise for large objects. */
export function trackFields(store: GenericStore, change: TrackedChange): KubernetesObject | Promise<KubernetesObject> {
  const { next } = change;
  const tracked = (entries: Entries): KubernetesObject => objectOf(withManaged(jsonOf(next), entries));
  const entries = updatedEntries(store, change);
  return entries instanceof Promise ? entries.then(tracked) : tracked(entries);
}

/** A draft before admission and strategy change it, whose fields belong to the writer. */
export interface DraftChange {
  readonly draft: KubernetesObject;
  readonly live: KubernetesObject | undefined;
  readonly manager: string;
  readonly context: RequestContext;
}

/**
 * Updates the draft's managed fields before mutating admission, so that fields set by admission and the strategy
 * (cluster IPs, selectors, token volumes) have no manager. A promise for large objects. Upstream: handlers/create.go
 * and update.go.
 */
export function trackDraft(store: GenericStore, { draft, live, manager, context }: DraftChange): void | Promise<void> {
  if (live === undefined && draft.metadata.managedFields === undefined && context.isLarge !== true)
    return setManaged(draft, entriesOfNew(store, draft, manager));
  const next = isCanonical(store, live) ? draft : objectOf(canonicalize(store.schema, draft, live));
  const entries = updatedEntries(store, { live, next, manager, subresource: '', context });
  if (entries instanceof Promise) return entries.then((later) => setManaged(draft, later));
  setManaged(draft, entries);
}

/** Managed fields derive from the draft's canonical shape, which is computed only where the draft may not have it. */
function entriesOfNew(store: GenericStore, draft: KubernetesObject, manager: string): Entries {
  const canonicalOf = isCanonical(store, undefined)
    ? undefined
    : (object: JsonObject): JsonObject => canonicalize(store.schema, object);
  return createdEntries(jsonOf(draft), requestOf(store, manager, ''), canonicalOf);
}

/**
 * Whether a draft has its canonical shape before admission: it was decoded, and no defaults were set, which may leave
 * undefined and zero fields. Those of custom resources leave none.
 */
function isCanonical({ definition }: GenericStore, live: KubernetesObject | undefined): boolean {
  if (definition.schema !== undefined) return true;
  return live === undefined && definition.strategy.applyDefaults === undefined;
}

type ManagedFields = KubernetesObject['metadata']['managedFields'];

function setManaged({ metadata }: KubernetesObject, entries: Entries): void {
  if (entries.length > 0) metadata.managedFields = entries as ManagedFieldsEntry[];
  else if (metadata.managedFields !== undefined) delete metadata.managedFields;
}

/** Restores managed fields that admission made unreadable. Upstream: NewManagedFieldsValidatingAdmissionController. */
export function repairManagedFields(draft: KubernetesObject, before: ManagedFields, context: RequestContext): void {
  const { managedFields: after } = draft.metadata;
  if (after === before || after === undefined || readManagers(after) !== undefined) return;
  if (before === undefined) delete draft.metadata.managedFields;
  else draft.metadata.managedFields = before;
  context.addWarning(
    '.metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: an entry cannot be read',
  );
}

/** Applies a configuration server-side. A promise for large objects. */
export function applyFields(
  store: GenericStore,
  change: {
    live: KubernetesObject | undefined;
    config: JsonObject;
    manager: string;
    subresource: string;
    force: boolean;
    context: RequestContext;
  },
): ApplyResult | Promise<ApplyResult> {
  const request = requestOf(store, change.manager, change.subresource);
  const live = change.live as JsonObject | undefined;
  return runSteps(change.context, applySteps(live, change.config, { ...request, force: change.force }));
}
