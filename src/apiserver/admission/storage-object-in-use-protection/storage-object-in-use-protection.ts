/**
 * StorageObjectInUseProtection: adds the finalizer that protects claims, volumes and volume attributes classes while
 * they are in use. Upstream: plugin/pkg/admission/storage/storageobjectinuseprotection.
 */
import type { AdmissionPlugin } from '../contract.ts';

const FINALIZERS: Readonly<Record<string, string>> = {
  '/persistentvolumeclaims': 'kubernetes.io/pvc-protection',
  '/persistentvolumes': 'kubernetes.io/pv-protection',
  'storage.k8s.io/volumeattributesclasses': 'kubernetes.io/vac-protection',
};

function finalizerOf({ group, resource }: { group: string; resource: string }): string | undefined {
  return FINALIZERS[`${group}/${resource}`];
}

export function createStorageObjectInUseProtection(): AdmissionPlugin {
  return {
    name: 'StorageObjectInUseProtection',
    handles: (operation, resource, subresource) =>
      operation === 'CREATE' && subresource === '' && finalizerOf(resource) !== undefined,
    mutate({ object, resource }) {
      const { metadata } = object!;
      const finalizer = finalizerOf(resource)!;
      if ((metadata.finalizers ?? []).includes(finalizer)) return;
      metadata.finalizers = [...(metadata.finalizers ?? []), finalizer];
    },
  };
}
