/**
 * NamespaceAutoProvision: creating an object in a namespace that does not exist creates the namespace. Upstream:
 * plugin/pkg/admission/namespace/autoprovision.
 */
import { Namespaces } from '../../../api/gen/resources.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionPlugin } from '../contract.ts';

export function createNamespaceAutoProvision(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'NamespaceAutoProvision',
    handles: (operation, resource) => operation === 'CREATE' && resource.namespaced,
    async mutate({ namespace, dryRun }) {
      if (dryRun || objects().get(Namespaces, '', namespace) !== undefined) return;
      await objects().ensure(Namespaces, {
        metadata: { name: namespace, labels: { 'kubernetes.io/metadata.name': namespace } },
        spec: { finalizers: ['kubernetes'] },
        status: { phase: 'Active' },
      });
    },
  };
}
