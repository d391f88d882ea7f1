/**
 * Builds the AdmissionRequest that webhooks and expressions see, without the objects. Upstream:
 * admission/plugin/webhook/request and plugin/cel.
 */
import type { AdmissionRequest } from '../../api/gen/admission-v1.ts';
import { userInfoOf } from '../authn/user-info.ts';
import type { AdmissionAttributes } from '../admission/contract.ts';
import type { MatchedResource } from './resource-matcher.ts';
import { type Kind, kindFor } from './review-objects.ts';
import { namespaceOf } from './selectors.ts';

const OPTIONS_KINDS = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

function optionsOf({ operation, options }: AdmissionAttributes): object | null {
  if (operation === 'CONNECT') return null;
  return { ...options, kind: OPTIONS_KINDS[operation], apiVersion: 'meta.k8s.io/v1' };
}

/** The AdmissionRequest of a request that matched as resource `matched`; `kind` is the kind of its objects there. */
export function admissionRequestOf(
  attributes: AdmissionAttributes,
  { requested, matched }: MatchedResource,
  kind: Kind,
): Omit<AdmissionRequest, 'uid' | 'object' | 'oldObject'> {
  const { subresource, name, operation, dryRun, context } = attributes;
  const sub = subresource === '' ? {} : { subResource: subresource };
  const requestSub = subresource === '' ? {} : { requestSubResource: subresource };
  const namespace = namespaceOf(attributes);
  return {
    kind: { ...kind },
    resource: gvrOf(matched.info),
    ...sub,
    requestKind: { ...kindFor(requested, subresource) },
    requestResource: gvrOf(requested.info),
    ...requestSub,
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: userInfoOf(context.user),
    dryRun,
    options: optionsOf(attributes) as never,
  };
}

function gvrOf({ group, version, resource }: { group: string; version: string; resource: string }): {
  group: string;
  version: string;
  resource: string;
} {
  return { group, version, resource };
}
