/**
 * Writers of admission policies and bindings must be allowed to read their parameters, since messages and mutations
 * reveal them. Policies need `get` on all objects of the kind, bindings on those they name. Members of system:masters
 * are exempt. Upstream: registry/admissionregistration/{validating,mutating}admissionpolicy{,binding}/authz.go,
 * called by the strategies.
 */
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  ParamKind,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../../../api/gen/admissionregistration-v1.ts';
import { MutatingAdmissionPolicies, ValidatingAdmissionPolicies } from '../../../api/gen/resources.ts';
import { forbiddenField } from '../../../api/field-error.ts';
import { type FieldCause, invalid } from '../../../api/status-error.ts';
import { deepEqual } from '../../../base/equal.ts';
import type { AuthorizationAttributes, Authorizer } from '../../authz/contract.ts';
import type { ResourceRegistry } from '../../generic-registry/resource-registry.ts';
import type { ObjectStore } from '../../registry/object-store.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../contract.ts';
import { servedKind } from './params.ts';

/** The authorizers, and the lookups of kinds and policies. */
export interface ParamAccessDeps {
  readonly objects: () => ObjectStore;
  readonly registry: ResourceRegistry;
  readonly authorizer: Authorizer;
}

type Policy = ValidatingAdmissionPolicy | MutatingAdmissionPolicy;
type Binding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding;
type ReadAttributes = Pick<AuthorizationAttributes, 'verb' | 'namespace' | 'name'>;

const POLICIES = /^(validating|mutating)admissionpolic(ies|ybindings)$/;

export function createPolicyParamAccess(deps: ParamAccessDeps): AdmissionPlugin {
  return {
    name: 'AdmissionPolicyParamAccess',
    handles: (operation, { group, resource }, subresource) =>
      (operation === 'CREATE' || operation === 'UPDATE') &&
      subresource === '' &&
      group === 'admissionregistration.k8s.io' &&
      POLICIES.test(resource),
    async validate(attributes) {
      const { resource, context, object } = attributes;
      if (object === undefined || context.user.groups.includes('system:masters')) return;
      const isBinding = resource.resource.endsWith('bindings');
      const cause = await (isBinding ? bindingCause(deps, attributes) : policyCause(deps, attributes));
      if (cause !== undefined) throw invalid(resource, attributes.name, [cause]);
    },
  };
}

async function policyCause(deps: ParamAccessDeps, attributes: AdmissionAttributes): Promise<FieldCause | undefined> {
  const kind = (attributes.object as Policy).spec?.paramKind;
  const before = (attributes.oldObject as Policy | undefined)?.spec?.paramKind;
  if (kind === undefined || deepEqual(kind, before)) return undefined;
  if (await mayRead(deps, attributes, kind, { verb: 'get', namespace: '*', name: '*' })) return undefined;
  const which = `(kind=${kind.kind ?? ''}, apiVersion=${kind.apiVersion ?? ''})`;
  return forbiddenField(
    'spec.paramKind',
    `${userText(attributes)} must have "get" permission on all objects of the referenced paramKind ${which}`,
  );
}

async function bindingCause(deps: ParamAccessDeps, attributes: AdmissionAttributes): Promise<FieldCause | undefined> {
  const { policyName = '', paramRef } = (attributes.object as Binding).spec ?? {};
  const before = (attributes.oldObject as Binding | undefined)?.spec;
  if (paramRef === undefined) return undefined;
  if (deepEqual(paramRef, before?.paramRef) && policyName === before?.policyName) return undefined;
  const isMutating = attributes.resource.resource.startsWith('mutating');
  const policies = isMutating ? MutatingAdmissionPolicies : ValidatingAdmissionPolicies;
  const policy: Policy | undefined = deps.objects().get<Policy>(policies, '', policyName);
  const { name = '', namespace = '' } = paramRef;
  const verb = isMutating && name === '' ? 'list' : 'get';
  if (await mayRead(deps, attributes, policy?.spec?.paramKind, { verb, namespace, name })) return undefined;
  return forbiddenField(
    'spec.paramRef',
    `${userText(attributes)} does not have "${verb}" permission on the object referenced by paramRef`,
  );
}

/** For an unknown kind, every resource must be readable. */
async function mayRead(
  { authorizer, registry }: ParamAccessDeps,
  { context }: AdmissionAttributes,
  kind: ParamKind | undefined,
  asked: ReadAttributes,
): Promise<boolean> {
  const parts = kind?.apiVersion?.split('/') ?? [];
  const [apiGroup = '*', apiVersion = '*'] = parts.length === 1 ? ['', ...parts] : parts.length === 2 ? parts : [];
  const resource = (kind && servedKind(kind, registry)?.info.resource) ?? '*';
  const rest = { isResourceRequest: true, subresource: '', path: '' };
  const { decision } = await authorizer.authorize({
    user: context.user,
    ...asked,
    ...rest,
    apiGroup,
    apiVersion,
    resource,
  });
  return decision === 'allow';
}

function userText({ context }: AdmissionAttributes): string {
  return `user ${JSON.stringify(context.user.name)}`;
}
