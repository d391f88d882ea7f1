/** The objects of manifests: documents that were read, with `List` kinds taken apart. Pure. */
import type { KubernetesObject } from '../api/object.ts';

/** Throws an Error on what is no object. */
export function manifestObjects(values: readonly unknown[]): KubernetesObject[] {
  return values.flatMap((value) => {
    const object = value as Partial<KubernetesObject> & { items?: object[] };
    if (typeof object !== 'object' || object === null || typeof object.kind !== 'string')
      throw new Error(`not a Kubernetes object: ${JSON.stringify(value).slice(0, 200)}`);
    if (object.kind.endsWith('List') && Array.isArray(object.items)) return manifestObjects(object.items);
    if (object.apiVersion === undefined)
      throw new Error(`${object.kind} ${object.metadata?.name ?? ''}: apiVersion is missing`);
    return [object as KubernetesObject];
  });
}
