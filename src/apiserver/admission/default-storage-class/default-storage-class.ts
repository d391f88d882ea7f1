/** DefaultStorageClass: a claim that names no class gets the default one; of several defaults the newest. Upstream: plugin/storage/storageclass/setdefault. */
import type { PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import { StorageClasses } from '../../../api/gen/resources.ts';
import { defaultStorageClass, namesStorageClass } from '../../../component-helpers/default-storage-class.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionPlugin } from '../contract.ts';

export function createDefaultStorageClass(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'DefaultStorageClass',
    handles: (operation, resource, subresource) =>
      operation === 'CREATE' &&
      resource.group === '' &&
      resource.resource === 'persistentvolumeclaims' &&
      subresource === '',
    mutate(attributes) {
      const claim = attributes.object as PersistentVolumeClaim;
      if (namesStorageClass(claim) || claim.spec === undefined) return;
      const { name } = defaultStorageClass(objects().list(StorageClasses))?.metadata ?? {};
      if (name !== undefined) claim.spec.storageClassName = name;
    },
  };
}
