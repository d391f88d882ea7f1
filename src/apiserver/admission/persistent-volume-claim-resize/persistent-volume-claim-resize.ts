/** PersistentVolumeClaimResize: a bound claim may grow where its class allows it. Upstream: plugin/pkg/admission/storage/persistentvolume/resize. */
import type { PersistentVolumeClaim } from '../../../api/gen/core-v1.ts';
import { StorageClasses } from '../../../api/gen/resources.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionPlugin } from '../contract.ts';
import { isOn, refusal } from '../refusal.ts';
import { requestedStorage } from '../../../component-helpers/claim-size.ts';

export function createPersistentVolumeClaimResize(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'PersistentVolumeClaimResize',
    handles: (operation, resource, subresource) =>
      operation === 'UPDATE' && isOn(resource, subresource, { resource: 'persistentvolumeclaims' }),
    validate(attributes) {
      const claim = attributes.object as PersistentVolumeClaim;
      const old = attributes.oldObject as PersistentVolumeClaim;
      if (compareQuantities(requestedStorage(claim), requestedStorage(old)) <= 0) return;
      if (old.status?.phase !== 'Bound')
        throw refusal(attributes, 'Only bound persistent volume claims can be expanded');
      if (!mayGrow(old, objects()))
        throw refusal(
          attributes,
          'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
        );
    },
  };
}

function mayGrow({ metadata, spec }: PersistentVolumeClaim, objects: ObjectStore): boolean {
  const name = metadata.annotations?.['volume.beta.kubernetes.io/storage-class'] ?? spec?.storageClassName ?? '';
  return name !== '' && objects.get(StorageClasses, '', name)?.allowVolumeExpansion === true;
}
