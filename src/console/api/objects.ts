/** Single objects: read, applied, patched, deleted. Every change can be tried first without being kept. */
import type { KubernetesObject } from '../../api/object.ts';
import { sendJson } from './http.ts';
import { type ObjectRef, objectPath } from './kinds.ts';

/** Changes by hand are owned by this manager. */
const MANAGER = 'keelson-console';

export interface Trial {
  /** True: the server answers as if, and keeps nothing. */
  readonly dryRun?: boolean;
}

export interface ApplyOptions extends Trial {
  /** True: takes over fields that other managers own. */
  readonly force?: boolean;
}

/** Rejects with `ApiError`, as all others here. */
export function getObject<T extends KubernetesObject = KubernetesObject>(ref: ObjectRef): Promise<T> {
  return sendJson<T>(objectPath(ref));
}

/** Server-side apply. A conflict rejects with 409, whose causes name the managers and their fields. */
export function applyObject(
  ref: ObjectRef,
  yaml: string,
  { force = false, dryRun }: ApplyOptions = {},
): Promise<KubernetesObject> {
  const params = paramsOf({ dryRun }, { fieldManager: MANAGER, force: String(force), fieldValidation: 'Strict' });
  return sendJson(`${objectPath(ref)}${params}`, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/apply-patch+yaml' },
    body: yaml,
  });
}

/** A JSON merge patch of the object or a subresource of it. */
export function patchObject(
  ref: ObjectRef,
  patch: object,
  { dryRun, subresource = '' }: Trial & { readonly subresource?: string } = {},
): Promise<KubernetesObject> {
  return sendJson(`${objectPath(ref, subresource)}${paramsOf({ dryRun }, { fieldManager: MANAGER })}`, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: JSON.stringify(patch),
  });
}

/** Creates an object, or what a subresource makes of one: an eviction, a binding. */
export function createAt(path: string, object: object, { dryRun }: Trial = {}): Promise<KubernetesObject> {
  return sendJson(`${path}${paramsOf({ dryRun }, { fieldManager: MANAGER })}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(object),
  });
}

export function deleteObject(
  ref: ObjectRef,
  { dryRun, propagationPolicy = 'Background' }: Trial & { readonly propagationPolicy?: string } = {},
): Promise<unknown> {
  return sendJson(`${objectPath(ref)}${paramsOf({ dryRun }, { propagationPolicy })}`, { method: 'DELETE' });
}

function paramsOf({ dryRun = false }: Trial, more: Record<string, string>): string {
  return `?${new URLSearchParams({ ...more, ...(dryRun ? { dryRun: 'All' } : {}) }).toString()}`;
}
