/** Objects as the store returns them: a name, uid and resourceVersion that a test leaves out are filled in. */
import type { KubernetesObject, Stored } from './object.ts';

/** The object with the metadata that the server would have added, except the namespace. */
export function stored<T extends KubernetesObject>(object: T): Stored<T> {
  const { namespace = '', name = '' } = object.metadata;
  const added = { name, uid: `uid-of-${namespace}/${name}`, resourceVersion: '1' };
  return { ...object, metadata: { ...added, ...object.metadata } } as Stored<T>;
}
