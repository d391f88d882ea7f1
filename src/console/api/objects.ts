/** Single objects: read, applied, patched, deleted. Every change can be tried first without being kept. */
import type { KubernetesObject } from '../../api/object.ts';
import { send, sendJson } from './http.ts';
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

const YAML = 'application/yaml';

/** The object as the server writes it in YAML; of a version, or '' for the present. Rejects with `ApiError`, as all others here. */
export async function readYaml(ref: ObjectRef, version = ''): Promise<string> {
  const exactly = version === '' ? '' : `?resourceVersion=${version}&resourceVersionMatch=Exact`;
  const response = await send(`${objectPath(ref)}${exactly}`, { headers: { Accept: YAML } });
  return response.text();
}

/** Server-side apply; the result in YAML. A conflict rejects with 409, whose causes name the managers and their fields. */
export async function applyObject(
  ref: ObjectRef,
  yaml: string,
  { force = false, dryRun }: ApplyOptions = {},
): Promise<string> {
  const params = paramsOf({ dryRun }, { fieldManager: MANAGER, force: String(force), fieldValidation: 'Strict' });
  const response = await send(`${objectPath(ref)}${params}`, {
    method: 'PATCH',
    headers: { 'Content-Type': 'application/apply-patch+yaml', Accept: YAML },
    body: yaml,
  });
  return response.text();
}

export interface PatchOptions extends Trial {
  readonly subresource?: string;
  readonly type?: 'merge' | 'json' | 'strategic';
}

const PATCH_TYPES = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

/** A patch of the object or a subresource of it; a JSON merge patch unless another type is named. */
export function patchObject(
  ref: ObjectRef,
  patch: object,
  { dryRun, subresource = '', type = 'merge' }: PatchOptions = {},
): Promise<KubernetesObject> {
  return sendJson(`${objectPath(ref, subresource)}${paramsOf({ dryRun }, { fieldManager: MANAGER })}`, {
    method: 'PATCH',
    headers: { 'Content-Type': PATCH_TYPES[type] },
    body: JSON.stringify(patch),
  });
}

/** Creates an object, or by a subresource of one: an eviction of a pod. */
export function createObject(path: string, object: object): Promise<KubernetesObject> {
  return sendJson(`${path}${paramsOf({}, { fieldManager: MANAGER })}`, {
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
