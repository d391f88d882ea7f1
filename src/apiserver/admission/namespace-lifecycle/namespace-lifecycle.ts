/**
 * NamespaceLifecycle: refuses creating objects in a namespace that is absent or terminating, and deleting the
 * namespaces that a cluster needs. Upstream: plugin/namespace/lifecycle.
 */
import type { Namespace } from '../../../api/gen/core-v1.ts';
import { Namespaces } from '../../../api/gen/resources.ts';
import { forbidden, notFound, StatusError } from '../../../api/status-error.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import { recordFault } from '../../refused-requests/refusal-source.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';

const IMMORTAL: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);
/** Reviews are answered, not stored: they may name a namespace that does not exist. */
const REVIEWS: ReadonlySet<string> = new Set(['localsubjectaccessreviews']);

export function createNamespaceLifecycle(objects: () => ObjectStore): AdmissionPlugin {
  return {
    name: 'NamespaceLifecycle',
    onlyRefuses: true,
    handles: (operation, resource) =>
      resource.resource === 'namespaces' && resource.group === ''
        ? operation === 'DELETE'
        : (operation === 'CREATE' || operation === 'UPDATE') && resource.namespaced,
    mutate(attributes) {
      if (attributes.operation === 'DELETE') return refuseImmortal(attributes);
      if (attributes.resource.group === 'authorization.k8s.io' && REVIEWS.has(attributes.resource.resource))
        return undefined;
      const store = objects();
      const cached = store.get(Namespaces, '', attributes.namespace);
      if (cached !== undefined) return admit(attributes, cached);
      // Another server may have just created it.
      return store.getFresh(Namespaces, '', attributes.namespace).then((fresh) => admit(attributes, fresh));
    },
  };
}

function admit(attributes: AdmissionAttributes, namespace: Namespace | undefined): void {
  const at = { namespace: '', name: attributes.namespace };
  if (namespace === undefined) throw recordFault(notFound(Namespaces, attributes.namespace), Namespaces, at, 'missing');
  if (attributes.operation !== 'CREATE') return;
  if (namespace.metadata.deletionTimestamp !== undefined || namespace.status?.phase === 'Terminating')
    throw recordFault(terminating(attributes), Namespaces, at);
}

function refuseImmortal(attributes: AdmissionAttributes): void {
  if (IMMORTAL.has(attributes.name))
    throw forbidden({ group: '', resource: 'namespaces' }, attributes.name, 'this namespace may not be deleted');
}

function terminating(attributes: AdmissionAttributes): StatusError {
  const why = `unable to create new content in namespace ${attributes.namespace} because it is being terminated`;
  const name =
    attributes.name === ''
      ? (attributes.object?.metadata.name ?? attributes.object?.metadata.generateName ?? '')
      : attributes.name;
  const error = forbidden(attributes.resource, name, why);
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${attributes.namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  return new StatusError({ ...error.status, details: { ...error.status.details, causes: [cause] } });
}
