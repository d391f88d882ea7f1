/** Server-side apply of manifests, as `kubectl apply --server-side` does it. */
import { parseYamlDocuments } from '../api/codec/yaml.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { Client } from '../client/client.ts';
import { resourceOfKind, type CustomKinds } from './references.ts';

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

/** What manifests are applied through. */
export interface ApplyDeps {
  readonly client: Client;
  readonly kinds: () => CustomKinds;
  /** Called after each definition of a custom kind: resolves when its objects may follow. */
  readonly established: (definition: KubernetesObject) => Promise<unknown>;
}

/** Applies in the given order; resolves to the objects as they are then. */
export async function applyManifests(
  { client, kinds, established }: ApplyDeps,
  manifests: Manifests,
): Promise<KubernetesObject[]> {
  const applied: KubernetesObject[] = [];
  for (const object of readManifests(manifests)) {
    const info = resourceOfKind(object.kind ?? '', object.apiVersion, kinds());
    const { name = '', namespace = 'default' } = object.metadata;
    const key = info.namespaced ? { namespace, name } : { name };
    const complete = info.namespaced ? { ...object, metadata: { ...object.metadata, namespace } } : object;
    applied.push(
      await client
        .resource(info)
        .patch(key, { type: 'apply', object: complete, fieldManager: FIELD_MANAGER, force: true }),
    );
    if (object.kind === 'CustomResourceDefinition') await established(object);
  }
  return applied;
}
