/** Reads, applies, patches and deletes single objects. Every change has a dry run. */
import type { KubernetesObject } from '../../api/object.ts';
import { ApiError, send, sendJson, textOf } from './http.ts';
import { type ObjectRef, objectPath } from './kinds.ts';
import { isBrief, isFinal, pauseAfter } from './patience.ts';

/** The field manager of changes on the page. */
const MANAGER = 'keelson-console';

export interface Trial {
  /** The server validates the change and does not store it. */
  readonly dryRun?: boolean;
}

export interface ApplyOptions extends Trial {
  /** Takes over fields that other managers own. */
  readonly force?: boolean;
}

const YAML = 'application/yaml';

/** Receives an object's YAML. */
interface YamlSink {
  put(yaml: string): void;
  /** The last attempt failed; another one follows unless the refusal is final. */
  failed(error: ApiError): void;
}

/** Reads the object as YAML, repeating failed reads, in a version, or with '' the current one. */
export async function readYaml(ref: ObjectRef, version: string, sink: YamlSink, signal: AbortSignal): Promise<void> {
  const exactly = version === '' ? '' : `?resourceVersion=${version}&resourceVersionMatch=Exact`;
  for (let failures = 0; !signal.aborted; failures++) {
    try {
      const response = await send(`${objectPath(ref)}${exactly}`, { headers: { Accept: YAML }, signal });
      const yaml = await textOf(response, signal);
      if (!signal.aborted) sink.put(yaml);
      return;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof ApiError)) throw error;
      if (!isBrief(error, failures)) sink.failed(error);
      if (isFinal(error) || error.code === 410) return;
      await pauseAfter(failures, signal);
    }
  }
}

/**
 * Server-side apply; resolves to the result in YAML. Rejects with `ApiError`, as all functions here: a conflict is a 409 whose
 * causes name the managers and their fields.
 */
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
  return textOf(response);
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

/** Patches the object or a subresource; as a JSON merge patch unless another type is passed. */
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

/** Creates an object, also at a subresource, such as the eviction of a pod. */
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
