/**
 * OwnerReferencesPermissionEnforcement: setting owners needs the permission to delete the object, since the garbage
 * collector would delete it on their behalf; blocking an owner's deletion needs the permission to set the owner's
 * finalizers. Upstream: plugin/pkg/admission/gc.
 */
import { deepEqual } from '../../../base/equal.ts';
import type { OwnerReference } from '../../../api/gen/meta-v1.ts';
import type { ResourceInfo } from '../../../api/resource-info.ts';
import { apiVersionOf } from '../../../api/resource-info.ts';
import type { AuthorizationAttributes, Authorizer } from '../../authz/contract.ts';
import type { ResourceRegistry } from '../../generic-registry/resource-registry.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { refusal } from '../refusal.ts';

export interface OwnerReferencesDeps {
  readonly authorizer: Authorizer;
  readonly registry: Pick<ResourceRegistry, 'served'>;
}

export function createOwnerReferencesPermissionEnforcement(deps: OwnerReferencesDeps): AdmissionPlugin {
  return {
    name: 'OwnerReferencesPermissionEnforcement',
    // The scheduler's bindings and a pod's status never set owners.
    handles: (operation, resource, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') && (resource.resource !== 'pods' || subresource !== 'status'),
    async validate(attributes) {
      const owners = attributes.object?.metadata?.ownerReferences ?? [];
      const before = attributes.oldObject?.metadata?.ownerReferences ?? [];
      if (deepEqual(owners, before)) return;
      await demandDelete(deps, attributes);
      for (const owner of newlyBlocking(owners, before)) await demandFinalizers(deps, attributes, owner);
    },
  };
}

function attributesFor(
  { context, namespace }: AdmissionAttributes,
  what: { verb: string; resource: ResourceInfo; subresource?: string; name: string },
): AuthorizationAttributes {
  const { verb, resource, subresource = '', name } = what;
  return {
    user: context.user,
    verb,
    isResourceRequest: true,
    apiGroup: resource.group,
    apiVersion: resource.version,
    namespace: resource.namespaced ? namespace : '',
    resource: resource.resource,
    subresource,
    name,
    path: '',
  };
}

async function demandDelete({ authorizer }: OwnerReferencesDeps, attributes: AdmissionAttributes): Promise<void> {
  const { resource, subresource, name } = attributes;
  const { decision, reason } = await authorizer.authorize(
    attributesFor(attributes, { verb: 'delete', resource, subresource, name }),
  );
  if (decision !== 'allow')
    throw refusal(attributes, `cannot set an ownerRef on a resource you can't delete: ${reason}, <nil>`);
}

/** The owner references that newly have `blockOwnerDeletion`. */
function newlyBlocking(owners: readonly OwnerReference[], before: readonly OwnerReference[]): OwnerReference[] {
  const blocked = new Set(before.filter(({ blockOwnerDeletion }) => blockOwnerDeletion === true).map(({ uid }) => uid));
  return owners.filter(({ blockOwnerDeletion, uid }) => blockOwnerDeletion === true && !blocked.has(uid));
}

async function demandFinalizers(
  { authorizer, registry }: OwnerReferencesDeps,
  attributes: AdmissionAttributes,
  { apiVersion, kind, name }: OwnerReference,
): Promise<void> {
  const owner = [...registry.served].find(({ info }) => info.kind === kind && apiVersionOf(info) === apiVersion);
  if (owner === undefined)
    throw refusal(
      attributes,
      `cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion ${apiVersion} Kind ${kind}`,
    );
  const what = { verb: 'update', resource: owner.info, subresource: 'finalizers', name };
  const { decision, reason } = await authorizer.authorize(attributesFor(attributes, what));
  if (decision !== 'allow')
    throw refusal(
      attributes,
      `cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: ${reason}, <nil>`,
    );
}
