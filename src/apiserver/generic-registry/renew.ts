/**
 * A shortcut for heartbeats: an update from inside this process that only changes one time of an object whose sender
 * is its only manager. There is nothing to default, validate or compare, so it goes straight from the filters and the
 * validating admission plugins to the compare-and-swap. Any other update takes the usual path, with the same result.
 * Upstream has no counterpart: it decodes and compares every lease of every node every ten seconds.
 */
import { decodeScalar } from '../../api/codec/scalars.ts';
import type { ManagedFieldsEntry } from '../../api/gen/meta-v1.ts';
import { type KubernetesObject, jsonOf } from '../../api/object.ts';
import { equal } from '../../api/patch/json-patch.ts';
import { restampStored, type TextReplacement } from '../watch-cache/revision-cell.ts';
import { mayBeOld } from './freshness.ts';
import type { GenericStore, ObjectName } from './generic-store.ts';
import { admissionAttributes, nowText, putObject, type WriteOutcome, type WriteRequest } from './write.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The renewal request; `object` is the caller's and not changed. */
export interface RenewRequest extends WriteRequest, ObjectName {
  readonly object: unknown;
}

/** Renews the object; undefined when the update must take the usual path and nothing was done. */
export async function renewObject(store: GenericStore, request: RenewRequest): Promise<WriteOutcome | undefined> {
  const { renewedField } = store.definition;
  if (renewedField === undefined || store.definition !== store.stored || request.dryRun || mayBeOld(store))
    return undefined;
  const key = store.keyOf(request);
  const cell = store.cache.get(key);
  if (cell === undefined || store.services.store.isStale?.(key) === true) return undefined;
  const old = store.object(cell);
  const renewed = renewalOf(old, request.object, renewedField);
  const managedFields = renewed && managedAs(store, old, { renewedField, manager: request.manager });
  if (renewed === undefined || managedFields === undefined) return undefined;
  const { admission } = store.services;
  if (admission.mutates('UPDATE', store.info, '')) return undefined;
  const object: KubernetesObject & { spec: Fields } = {
    ...old,
    metadata: { ...old.metadata, managedFields: managedFields as ManagedFieldsEntry[] },
    spec: { ...(old as { spec?: Fields }).spec, [renewedField]: renewed },
  };
  const about = { operation: 'UPDATE', subresource: '', namespace: request.namespace, name: request.name } as const;
  const attributes = admissionAttributes(store, request, { ...about, object, oldObject: old });
  const refusing = admission.mutate(attributes);
  if (refusing !== undefined) await refusing;
  const validating = admission.validate(attributes);
  if (validating !== undefined) await validating;
  const value = restampStored(cell, stampsOf(renewedField, old, object), object);
  const outcome = await putObject(store, {
    key,
    object,
    expect: cell.revision,
    created: false,
    life: 'renewed',
    request,
    value,
  });
  return 'lost' in outcome ? undefined : outcome;
}

/** The texts that the renewal replaces. */
function stampsOf(field: string, old: KubernetesObject & { spec?: Fields }, renewed: typeof old): TextReplacement[] {
  const stamps = [{ name: field, before: String(old.spec?.[field]), after: String(renewed.spec?.[field]) }];
  const [before, after] = [old.metadata.managedFields, renewed.metadata.managedFields];
  if (before !== after)
    stamps.push({ name: 'time', before: String(before?.[0]?.time), after: String(after?.[0]?.time) });
  return stamps;
}

/** The new time, if it is the only difference; otherwise undefined. */
function renewalOf(old: KubernetesObject, requested: unknown, field: string): string | undefined {
  if (old.metadata.deletionTimestamp !== undefined || typeof requested !== 'object' || requested === null)
    return undefined;
  const next = requested as KubernetesObject & { readonly spec?: Fields };
  const { spec } = old as { readonly spec?: Fields };
  const text = next.spec?.[field];
  if (typeof text !== 'string' || text === spec?.[field] || spec?.[field] === undefined) return undefined;
  if (!sameBut(jsonOf(old), jsonOf(next), ['spec', 'metadata'])) return undefined;
  if (!sameBut(spec, next.spec!, [field])) return undefined;
  if (typeof next.metadata !== 'object' || !sameBut(old.metadata as Fields, next.metadata as Fields, []))
    return undefined;
  return isCanonicalTime(text) ? text : undefined;
}

/** Whether two objects differ only in the named fields. */
function sameBut(a: Fields, b: Fields, changing: readonly string[]): boolean {
  let count = 0;
  for (const name in a) {
    count++;
    if (!Object.hasOwn(b, name)) return false;
    if (a[name] !== b[name] && !changing.includes(name) && !equal(a[name], b[name])) return false;
  }
  return Object.keys(b).length === count;
}

/** Times that are valid in every month; others are left to the decoder. */
const PLAIN_TIME = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/;

function isCanonicalTime(text: string): boolean {
  if (PLAIN_TIME.test(text)) return true;
  let fits = true;
  const canonical = decodeScalar('microTime', text, () => {
    fits = false;
  });
  return fits && canonical === text;
}

/** The managed fields with the new time; undefined unless the sender is the only manager. */
function managedAs(
  store: GenericStore,
  old: KubernetesObject,
  { renewedField, manager }: { readonly renewedField: string; readonly manager: string },
): readonly ManagedFieldsEntry[] | undefined {
  const entries = old.metadata.managedFields;
  const entry = entries?.[0];
  if (entry === undefined || entries!.length !== 1) return undefined;
  const isOwn =
    entry.manager === manager &&
    entry.operation === 'Update' &&
    entry.apiVersion === store.apiVersion &&
    entry.subresource === undefined;
  const fields = entry.fieldsV1 as Record<string, Record<string, object>> | undefined;
  if (!isOwn || fields?.['f:spec']?.[`f:${renewedField}`] === undefined) return undefined;
  const time = nowText(store);
  return entry.time === time ? entries : [{ ...entry, time }];
}
