/** Finds the dependents of an object by owner references, direct and indirect. */
import { allResources, Events, Leases } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { ObjectStore } from '../apiserver/registry/object-store.ts';
import type { CustomKinds } from './references.ts';

/** An object with its resource. */
export interface OwnedObject {
  readonly info: ResourceInfo;
  readonly object: KubernetesObject;
  /** 1 for direct dependents of the first owner. */
  readonly depth: number;
}

/** Kinds that own nothing and may have very many objects. */
const unowned: readonly ResourceInfo[] = [Events, Leases];

/** All dependents of an object, owners before their own dependents. */
export function ownedObjects(
  objects: ObjectStore,
  root: KubernetesObject,
  custom: CustomKinds,
): readonly OwnedObject[] {
  const byOwner = objectsByOwner(objects, custom);
  const found: OwnedObject[] = [];
  const seen = new Set([root.metadata.uid]);
  const visit = (owner: KubernetesObject, depth: number): void => {
    for (const { info, object } of byOwner.get(owner.metadata.uid ?? '') ?? []) {
      if (seen.has(object.metadata.uid)) continue;
      seen.add(object.metadata.uid);
      found.push({ info, object, depth });
      visit(object, depth + 1);
    }
  };
  visit(root, 1);
  return found;
}

function objectsByOwner(objects: ObjectStore, custom: CustomKinds): Map<string, Omit<OwnedObject, 'depth'>[]> {
  const byOwner = new Map<string, Omit<OwnedObject, 'depth'>[]>();
  const seen = new Set<string>();
  for (const info of [...allResources, ...custom]) {
    const name = `${info.group}/${info.resource}`;
    if (seen.has(name) || unowned.includes(info) || !info.verbs.includes('list')) continue;
    for (const object of listed(objects, info)) {
      seen.add(name); // one of several served versions is enough
      for (const { uid } of object.metadata.ownerReferences ?? []) {
        const owned = byOwner.get(uid);
        if (owned === undefined) byOwner.set(uid, [{ info, object }]);
        else owned.push({ info, object });
      }
    }
  }
  return byOwner;
}

/** Empty for kinds that this server does not serve. */
function listed(objects: ObjectStore, info: ResourceInfo): readonly KubernetesObject[] {
  try {
    return objects.list(info as ResourceInfo<KubernetesObject>);
  } catch {
    return [];
  }
}
