/** What every API object has. Objects are immutable plain JSON once stored; a change makes a copy. */
import type { ListMeta, ObjectMeta } from './gen/meta-v1.ts';

/** Any API object with metadata. */
export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

/** A list of objects of one kind. */
export interface ObjectList<T> {
  apiVersion?: string;
  kind?: string;
  metadata: ListMeta;
  items: T[];
}
