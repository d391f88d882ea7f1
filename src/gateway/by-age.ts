/** Orders objects by age, then by name, as upstream does. */
import type { KubernetesObject, Stored } from '../api/object.ts';

export function byAge(a: Stored<KubernetesObject>, b: Stored<KubernetesObject>): number {
  const key = ({ metadata }: typeof a): string =>
    `${metadata.creationTimestamp ?? ''} ${metadata.namespace}/${metadata.name}`;
  return key(a) < key(b) ? -1 : 1;
}
