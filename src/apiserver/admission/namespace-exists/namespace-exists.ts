/**
 * NamespaceExists: refuses writes in a namespace that does not exist. Upstream:
 * plugin/pkg/admission/namespace/exists.
 */
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
      // Another server may have just created it.
      if ((await objects().getFresh(Namespaces, '', namespace)) !== undefined) return;
      throw notFound({ group: '', resource: 'namespaces' }, namespace);
    },
  };
}
