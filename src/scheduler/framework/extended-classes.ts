/**
 * Extended resources of a pod that device classes provide: where the node has none of them, NodeResourcesFit leaves
 * them to DynamicResources.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { podRequests } from '../../component-helpers/pod-resources.ts';
import type { ClusterObjects } from './plugin-deps.ts';

/** The pod's extended resources that have a device class, with the class's name. */
export function extendedClasses(
  classOf: ClusterObjects['extendedResourceClass'],
  pod: Stored<Pod>,
): ReadonlyMap<string, string> {
  const classes = new Map<string, string>();
  for (const [name, amount] of Object.entries(podRequests(pod).requests.scalars ?? {})) {
    const deviceClass = amount > 0 ? classOf(name) : undefined;
    if (deviceClass !== undefined) classes.set(name, deviceClass.metadata.name ?? '');
  }
  return classes;
}
