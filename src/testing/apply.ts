/** Server-side apply of manifests, as with `kubectl apply --server-side`. */
import type { KubernetesObject } from '../api/object.ts';
import type { Client, WriteOptions } from '../client/client.ts';
import { manifestObjects } from '../component-helpers/manifest-objects.ts';
import type { Clock } from '../platform/clock.ts';
import { resourceOfKind, type CustomKinds } from './references.ts';

/** YAML text of one or more documents, an object, or several. */
export type Manifests = string | object | readonly object[];

/** The field manager of the applied fields. */
const FIELD_MANAGER = 'keelson-testing';

/** The objects of manifests; the items of `List` kinds are separate objects. Throws for a value that is no object. */
async function readManifests(manifests: Manifests, clock: Clock): Promise<KubernetesObject[]> {
  if (typeof manifests !== 'string') return manifestObjects([manifests].flat());
  // Virtual time must not advance while a module is loaded from a file.
  const release = clock.holdBusy('load the YAML parser');
  const { parseYamlDocuments } = await import('../api/codec/yaml.ts').finally(release);
  return manifestObjects(parseYamlDocuments(manifests).map(({ value }) => value));
}

export interface ApplyDeps {
  readonly clock: Clock;
  readonly client: Client;
  readonly kinds: () => CustomKinds;
  /** Called after each definition of a custom kind; resolves when its objects can be applied. */
  readonly established: (definition: KubernetesObject) => Promise<unknown>;
}

/** Applies in order; resolves to the objects as stored. */
export async function applyManifests(
  { client, clock, kinds, established }: ApplyDeps,
  manifests: Manifests,
  { fieldManager = FIELD_MANAGER, fieldValidation }: Pick<WriteOptions, 'fieldValidation' | 'fieldManager'> = {},
): Promise<KubernetesObject[]> {
  const applied: KubernetesObject[] = [];
  for (const object of await readManifests(manifests, clock)) {
    const info = resourceOfKind(object.kind ?? '', object.apiVersion, kinds());
    const { name = '', namespace = 'default' } = object.metadata;
    const key = info.namespaced ? { namespace, name } : { name };
    const complete = info.namespaced ? { ...object, metadata: { ...object.metadata, namespace } } : object;
    applied.push(
      await client
        .resource(info)
        .patch(key, { type: 'apply', object: complete, fieldManager, force: true }, { fieldValidation }),
    );
    if (object.kind === 'CustomResourceDefinition') await established(object);
  }
  return applied;
}
