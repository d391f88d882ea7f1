/** Server-side apply of manifests, as `kubectl apply --server-side` does it. */
import { parseYamlDocuments } from '../api/codec/yaml.ts';
import type { CustomResourceDefinition } from '../api/gen/apiextensions-v1.ts';
import { CustomResourceDefinitions } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { isConditionTrue } from '../apiserver/apiextensions/conditions.ts';
import type { ObjectStore } from '../apiserver/registry/object-store.ts';
import type { Client } from '../client/client.ts';
import type { Pace } from './pace.ts';
import { resourceOfKind } from './references.ts';

/** YAML text of one or more documents, an object, or several. */
export type Manifests = string | object | readonly object[];

/** Whom the applied fields belong to. */
export const FIELD_MANAGER = 'keelson-testing';

/** Objects of manifests; `List` kinds are taken apart. Throws on what is no object. */
export function readManifests(manifests: Manifests): KubernetesObject[] {
  const values =
    typeof manifests === 'string' ? parseYamlDocuments(manifests).map(({ value }) => value) : [manifests].flat();
  return values.flatMap((value) => {
    const object = value as Partial<KubernetesObject> & { items?: object[] };
    if (typeof object !== 'object' || object === null || typeof object.kind !== 'string')
      throw new Error(`not a Kubernetes object: ${JSON.stringify(value).slice(0, 200)}`);
    if (object.kind.endsWith('List') && Array.isArray(object.items)) return readManifests(object.items);
    if (object.apiVersion === undefined)
      throw new Error(`${object.kind} ${object.metadata?.name ?? ''}: apiVersion is missing`);
    return [object as KubernetesObject];
  });
}

/** What applying needs. */
export interface ApplyDeps {
  readonly client: Client;
  readonly pace: Pace;
  /** Undefined while the server is down. */
  readonly objects: () => ObjectStore | undefined;
}

/** Applies in the given order; resolves to the objects as they are then. */
export async function applyManifests(deps: ApplyDeps, manifests: Manifests): Promise<KubernetesObject[]> {
  const { client, objects } = deps;
  const applied: KubernetesObject[] = [];
  for (const object of readManifests(manifests)) {
    const info = resourceOfKind(object.kind ?? '', object.apiVersion, objects());
    const { name = '', namespace = 'default' } = object.metadata;
    const key = info.namespaced ? { namespace, name } : { name };
    const complete = info.namespaced ? { ...object, metadata: { ...object.metadata, namespace } } : object;
    applied.push(
      await client
        .resource(info)
        .patch(key, { type: 'apply', object: complete, fieldManager: FIELD_MANAGER, force: true }),
    );
    if (info === (CustomResourceDefinitions as ResourceInfo)) await established(deps, name);
  }
  return applied;
}

/** What a definition defines may come next in the same manifests. */
async function established({ pace, objects }: ApplyDeps, name: string): Promise<void> {
  const definition = (): CustomResourceDefinition | undefined => objects()?.get(CustomResourceDefinitions, '', name);
  const isServed = (): boolean => {
    const now = definition();
    return now !== undefined && isConditionTrue(now, 'Established');
  };
  if (await pace.until(isServed, ESTABLISHED_WITHIN_MS)) return;
  const conditions = (definition()?.status?.conditions ?? []).map(
    ({ type, status, message = '' }) => `${type}=${status} ${message}`,
  );
  throw new Error(`customresourcedefinition ${name} is not Established: ${conditions.join('; ')}`);
}

const ESTABLISHED_WITHIN_MS = 10_000;
