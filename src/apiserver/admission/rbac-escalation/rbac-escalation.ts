/**
 * Refuses roles and bindings that grant more than their writer holds. Upstream checks this in the storage of these
 * resources (policybased); here it is the last admission check, which sees the same object.
 */
import { forbidden } from '../../../api/status-error.ts';
import { escalationProblem, type EscalationDeps, type GrantAttempt } from '../../authz/escalation.ts';
import type { AdmissionPlugin } from '../contract.ts';

const RESOURCES: ReadonlySet<string> = new Set(['roles', 'clusterroles', 'rolebindings', 'clusterrolebindings']);

export function createRbacEscalation(deps: EscalationDeps): AdmissionPlugin {
  return {
    name: 'RBACEscalation',
    handles: (operation, resource, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') &&
      subresource === '' &&
      resource.group === 'rbac.authorization.k8s.io' &&
      RESOURCES.has(resource.resource),
    async validate(attributes) {
      const { object, oldObject, resource, namespace, context } = attributes;
      if (object === undefined) return;
      const problem = await escalationProblem(deps, {
        user: context.user,
        resource: resource.resource as GrantAttempt['resource'],
        namespace,
        requestName: context.info.name,
        object,
        oldObject,
      });
      if (problem !== undefined) throw forbidden(resource, object.metadata.name ?? '', problem);
    },
  };
}
