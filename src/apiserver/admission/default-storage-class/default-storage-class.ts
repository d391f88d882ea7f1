/** DefaultStorageClass: a claim that names no class gets the default one; of several defaults the newest. Upstream: plugin/storage/storageclass/setdefault. */
import type { PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import { StorageClasses } from '../../../api/gen/resources.ts';
import { parseTime } from '../../../api/time.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionPlugin } from '../contract.ts';

const ANNOTATIONS = ['storageclass.kubernetes.io/is-default-class', 'storageclass.beta.kubernetes.io/is-default-class'];

/** Creates the plugin. */
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
      const named =
        claim.metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] !== undefined ||
        claim.spec?.storageClassName !== undefined;
      if (named || claim.spec === undefined) return;
      const defaults = objects()
        .list(StorageClasses)
        .filter((c) => ANNOTATIONS.some((key) => c.metadata.annotations?.[key] === 'true'));
      const newest = defaults.toSorted(
        (a, b) =>
          parseTime(b.metadata.creationTimestamp) - parseTime(a.metadata.creationTimestamp) ||
          ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
      )[0];
      if (newest?.metadata.name !== undefined) claim.spec.storageClassName = newest.metadata.name;
    },
  };
}
