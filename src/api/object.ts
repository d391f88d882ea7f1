/** What every API object has. Objects are immutable plain JSON once stored; a change makes a copy. */
import type { JsonObject } from './codec/own-property.ts';
import type { ListMeta, ObjectMeta } from './gen/meta-v1.ts';

/** Any API object with metadata. */
export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

/** Metadata as the API server stores it: `namespace` is there where the kind is namespaced. */
export type StoredMeta<M extends ObjectMeta> = M & {
  name: string;
  uid: string;
  resourceVersion: string;
} & ('~namespaced' extends keyof M ? { namespace: string } : unknown);

/**
 * An object that the API server has stored, as it comes from informers and answers. A function that reads the identity of
 * an object takes this one; what is written or decoded is of the plain type, whose metadata may lack everything.
 */
export type Stored<T extends KubernetesObject> = T & { metadata: StoredMeta<T['metadata']> };

/** A list of objects of one kind. */
export interface ObjectList<T> {
  apiVersion?: string;
  kind?: string;
  metadata: ListMeta;
  items: T[];
}

/** The same object, to be read and written field by field: interfaces have no index signature, though every object is plain JSON. */
export function jsonOf(object: KubernetesObject): JsonObject {
  return object as KubernetesObject & JsonObject;
}

/** The same JSON under the type whose schema it was decoded with. Nothing is checked here. */
export function objectOf<T extends KubernetesObject = KubernetesObject>(decoded: JsonObject): T {
  return decoded as T & JsonObject;
}
