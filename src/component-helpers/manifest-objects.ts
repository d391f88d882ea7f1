/** The objects in parsed manifests; `List` kinds are expanded. Pure. */
import type { KubernetesObject } from '../api/object.ts';

/** Throws an Error for a value that is no object. */
export function manifestObjects(values: readonly unknown[]): KubernetesObject[] {
  return values.flatMap((value) => {
    const object = value as Partial<KubernetesObject> & { items?: object[] };
    if (typeof object !== 'object' || object === null || typeof object.kind !== 'string')
      throw new Error(`not a Kubernetes object: ${kindOfValue(value)}`);
    if (object.kind.endsWith('List') && Array.isArray(object.items)) return manifestObjects(object.items);
    if (object.apiVersion === undefined)
      throw new Error(`${object.kind} ${object.metadata?.name ?? ''}: apiVersion is missing`);
    return [object as KubernetesObject];
  });
}

/** Never includes the value: events quote the error, and it may be a Secret without a `kind`. */
function kindOfValue(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (typeof value !== 'object' || value === null) return `a ${value === null ? 'null' : typeof value}`;
  const name = (value as Partial<KubernetesObject>).metadata?.name;
  return `kind is missing${typeof name === 'string' ? `, of the object ${name.slice(0, 253)}` : ''}`;
}
