/** No objects of deleted namespaces or deleted owners are left. */
import { allResources, Namespaces } from '../../api/gen/resources.ts';
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../../api/resource-info.ts';
import type { Cluster } from '../cluster.ts';
import { nameOf } from './comparisons.ts';

function everything(cluster: Cluster): KubernetesObject[] {
  const infos = [...new Map(allResources.map((info) => [`${info.resource}.${info.group}`, info])).values()];
  return infos.flatMap((info) => cluster.peek(info as ResourceInfo<KubernetesObject>));
}

export function outlivedNamespaces(cluster: Cluster): string[] {
  const namespaces = new Set(cluster.peek(Namespaces).map(({ metadata }) => metadata.name));
  return everything(cluster)
    .filter(({ metadata: { namespace } }) => namespace !== undefined && !namespaces.has(namespace))
    .map((object) => `${nameOf(object)} has outlived its namespace`);
}

export function outlivedOwners(cluster: Cluster): string[] {
  const builtIn = new Set(allResources.map((info) => `${apiVersionOf(info)}/${info.kind}`));
  const all = everything(cluster);
  const uids = new Set(all.map(({ metadata }) => metadata.uid));
  const isGone = ({ apiVersion, kind, uid }: OwnerReference): boolean =>
    builtIn.has(`${apiVersion}/${kind}`) && !uids.has(uid);
  return all
    .filter(({ metadata: { ownerReferences = [], deletionTimestamp } }) => {
      return ownerReferences.length > 0 && deletionTimestamp === undefined && ownerReferences.every(isGone);
    })
    .map((object) => `${nameOf(object)} has outlived its owners`);
}
