/** NamespaceExists: nothing is created, changed or deleted in a namespace that is not there. Upstream: plugin/pkg/admission/namespace/exists. */
import { Namespaces } from '../../../api/gen/resources.ts';
import { notFound } from '../../../api/status-error.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionPlugin } from '../contract.ts';

export function createNamespaceExists(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'NamespaceExists',
    handles: (operation, resource) => operation !== 'CONNECT' && resource.namespaced,
    async validate({ namespace }) {
      if (objects().get(Namespaces, '', namespace) !== undefined) return;
      // Another server may just have made it.
      if ((await objects().getFresh(Namespaces, '', namespace)) !== undefined) return;
      throw notFound({ group: '', resource: 'namespaces' }, namespace);
    },
  };
}
