/** The common part of all API objects. Stored objects are immutable plain JSON; a change makes a copy. */
import type { JsonObject } from './codec/own-property.ts';
import type { ListMeta, ObjectMeta } from './gen/meta-v1.ts';

/** Any API object with metadata. */
export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

/** Metadata as the API server stores it. `namespace` is present when the kind is namespaced. */
export type StoredMeta<M extends ObjectMeta> = M & {
  name: string;
  uid: string;
  resourceVersion: string;
} & ('~namespaced' extends keyof M ? { namespace: string } : unknown);

/**
 * An object that the API server has stored, from an informer or a response. Functions that read the identity of an object take
 * this type; objects under construction and decoded ones have the plain type, whose metadata may lack everything.
 */
export type Stored<T extends KubernetesObject> = T & { metadata: StoredMeta<T['metadata']> };

/** A list of objects of one kind. */
export interface ObjectList<T> {
  apiVersion?: string;
  kind?: string;
  metadata: ListMeta;
  items: T[];
}

/** The same object as a map of fields: interfaces have no index signature, though every object is plain JSON. */
export function jsonOf(object: KubernetesObject): JsonObject {
  return object as KubernetesObject & JsonObject;
}

/** Casts decoded JSON to the type whose schema it was decoded with, without a check. */
export function objectOf<T extends KubernetesObject = KubernetesObject>(decoded: JsonObject): T {
  return decoded as T & JsonObject;
}
