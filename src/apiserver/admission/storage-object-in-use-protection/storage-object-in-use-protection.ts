/** StorageObjectInUseProtection: new claims and volumes carry the finalizer that keeps them while they are used. Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection. */
import type { AdmissionPlugin } from '../contract.ts';

const finalizers: Readonly<Record<string, string>> = {
  persistentvolumeclaims: 'kubernetes.io/pvc-protection',
  persistentvolumes: 'kubernetes.io/pv-protection',
};

/** Creates the plugin. */
export function createStorageObjectInUseProtection(): AdmissionPlugin {
  return {
    name: 'StorageObjectInUseProtection',
    handles: (operation, resource, subresource) =>
      operation === 'CREATE' &&
      subresource === '' &&
      resource.group === '' &&
      Object.hasOwn(finalizers, resource.resource),
    mutate({ object, resource }) {
      const { metadata } = object!;
      const finalizer = finalizers[resource.resource]!;
      if ((metadata.finalizers ?? []).includes(finalizer)) return;
      metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
    },
  };
}
