/**
 * Applies and deletes the objects of addons. An annotation names the addon that owns an object: only objects with it
 * are deleted.
 */
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { isReason } from '../../api/status-error.ts';
import type { Client } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';
import type { ObjectReference } from './addon-record.ts';
import { isOfKind } from './same-object.ts';

/** The annotation with the name of the owning addon. */
const OWNER_ANNOTATION = 'keelson.dev/addon';
const FIELD_MANAGER = 'keelson-addons';

interface ResolvedObject {
  readonly object: KubernetesObject;
  readonly reference: ObjectReference;
}

/** The objects of one pass. */
export class OwnedObjects {
  readonly #client: Client;
  readonly #signal: AbortSignal;

  constructor(client: Client, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Objects with their namespaces. A kind that the same file defines is resolved when it is applied. */
  async resolve(objects: readonly KubernetesObject[]): Promise<readonly ResolvedObject[]> {
    const { resources } = await discoverResources(this.#client, this.#signal);
    return objects.map((object) => {
      const { name, namespace = 'default' } = object.metadata;
      if (name === undefined) throw new Error(`${object.kind}: metadata.name is missing`);
      const info = resources.find((each) => isOfKind(each, object));
      const isScoped = info === undefined ? object.metadata.namespace !== undefined : info.namespaced;
      const complete = isScoped ? { ...object, metadata: { ...object.metadata, namespace } } : object;
      const reference = { apiVersion: object.apiVersion ?? '', kind: object.kind ?? '', name };
      return { object: complete, reference: isScoped ? { ...reference, namespace } : reference };
    });
  }

  /** Applies an object owned by this addon. Rejects when the server does not know the kind. */
  async apply(addon: string, object: KubernetesObject): Promise<void> {
    const info = await this.#findInfo(object);
    if (info === undefined) throw new Error(`the server has no kind ${object.kind} in ${object.apiVersion}`);
    const { name = '', namespace = 'default', annotations } = object.metadata;
    const metadata = { ...object.metadata, annotations: { ...annotations, [OWNER_ANNOTATION]: addon } };
    const complete = { ...object, metadata: info.namespaced ? { ...metadata, namespace } : metadata };
    const patch = { type: 'apply', object: complete, fieldManager: FIELD_MANAGER, force: true } as const;
    await this.#client
      .resource(info)
      .patch(info.namespaced ? { namespace, name } : { name }, patch, { signal: this.#signal });
  }

  /** Deletes an object that this addon still owns. With a deleted kind its objects are gone too. */
  async prune(addon: string, reference: ObjectReference): Promise<void> {
    const info = await this.#findInfo(reference);
    if (info === undefined) return;
    const { name, namespace } = reference;
    const key = namespace === undefined ? { name } : { namespace, name };
    try {
      const object = await this.#client.resource(info).get(key, { signal: this.#signal });
      if (object.metadata.annotations?.[OWNER_ANNOTATION] !== addon) return;
      const { uid } = object.metadata;
      const preconditions = { uid };
      await this.#client
        .resource(info)
        .delete(key, { propagationPolicy: 'Background', preconditions, signal: this.#signal });
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  async #findInfo(
    object: Pick<KubernetesObject, 'apiVersion' | 'kind'>,
  ): Promise<ResourceInfo<KubernetesObject> | undefined> {
    const { resources, stale } = await discoverResources(this.#client, this.#signal);
    if (stale.includes(object.apiVersion ?? '')) throw new Error(`the server of ${object.apiVersion} is not available`);
    return resources.find((each) => isOfKind(each, object));
  }
}
