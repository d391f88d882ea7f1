/**
 * Variables expressions of admission may use: object, oldObject, request, namespaceObject, params, authorizer. Upstream:
 * apiserver/pkg/admission/plugin/cel/{compile,composition,condition}.go.
 */
import type { Namespace } from '../../api/gen/core-v1.ts';
import type { Activation } from '../../api/cel/compile.ts';
import { CelAuthorizer, type Decisions } from '../../api/cel/libraries/authorizer.ts';
import { NAMESPACE_TYPE, REQUEST_TYPE } from '../../api/cel/admission-types.ts';
import { dynValue } from '../../api/cel/values.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { AdmissionAttributes } from '../admission/contract.ts';
import { admissionRequestOf } from './admission-request.ts';
import type { MatchedResource } from './resource-matcher.ts';
import { reviewObjects } from './review-objects.ts';

/** Values of `object`, `oldObject` and `request` for a request that matched as `matched`. */
export async function requestValues(
  attributes: AdmissionAttributes,
  matched: MatchedResource,
): Promise<Record<string, unknown>> {
  const view = reviewObjects(matched.requested, matched.matched, attributes.subresource);
  const valueOf = async (object: KubernetesObject | undefined): Promise<unknown> =>
    object === undefined ? null : dynValue(await view.show(object));
  return {
    object: await valueOf(attributes.object),
    oldObject: await valueOf(attributes.oldObject),
    request: REQUEST_TYPE.value(admissionRequestOf(attributes, matched, view.kind)),
  };
}

/** `namespaceObject`; null for what has no namespace. */
export function namespaceValue(namespace: Namespace | undefined): unknown {
  if (namespace === undefined) return null;
  const { uid, ...metadata } = namespace.metadata;
  return NAMESPACE_TYPE.value({ ...namespace, metadata: { ...metadata, ...(uid === undefined ? {} : { UID: uid }) } });
}

/** The variables `authorizer` and `authorizer.requestResource` of the requesting user. */
export function authorizerValues(attributes: AdmissionAttributes, decisions: Decisions): Activation {
  const { resource, subresource, namespace, name, context } = attributes;
  const about = {
    apiGroup: resource.group,
    apiVersion: resource.version,
    resource: resource.resource,
    subresource,
    namespace,
    name,
  };
  const authorizer = new CelAuthorizer({ ...context.user }, decisions);
  return { authorizer, 'authorizer.requestResource': authorizer.check(about) };
}
