/** Objects as the store gives them back: what a test leaves out of name, uid and resourceVersion is filled in. */
import type { KubernetesObject, Stored } from './object.ts';

/** The object with what the server would have added to its metadata. The namespace is the test's to choose. */
export function stored<T extends KubernetesObject>(object: T): Stored<T> {
  const { namespace = '', name = '' } = object.metadata;
  const added = { name, uid: `uid-of-${namespace}/${name}`, resourceVersion: '1' };
  return { ...object, metadata: { ...added, ...object.metadata } } as Stored<T>;
}
