/** Extended resources of a pod that device classes stand for: NodeResourcesFit leaves them to DynamicResources where a node has none. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { podRequests } from '../../component-helpers/pod-resources.ts';
import type { ClusterObjects } from './plugin-deps.ts';

/** The pod's resources that a device class stands for, with its name. */
export function extendedClasses(
  classOf: ClusterObjects['extendedResourceClass'],
  pod: Stored<Pod>,
): ReadonlyMap<string, string> {
  const classes = new Map<string, string>();
  for (const [name, amount] of Object.entries(podRequests(pod).requests.scalars ?? {})) {
    const found = amount > 0 ? classOf(name) : undefined;
    if (found !== undefined) classes.set(name, found.metadata.name ?? '');
  }
  return classes;
}
