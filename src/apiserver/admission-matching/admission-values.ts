/**
 * Variables expressions of admission may use: object, oldObject, request, namespaceObject, params, authorizer. Upstream:
 * apiserver/pkg/admission/plugin/cel/{compile,composition,condition}.go.
 */
import type { Namespace } from '../../api/gen/core-v1.ts';
import { CelAuthorizer, type Decisions } from '../../api/cel/libraries/authorizer.ts';
import { NAMESPACE_TYPE, REQUEST_TYPE } from '../../api/cel/admission-types.ts';
import { dynValue } from '../../api/cel/values.ts';
import type { KubernetesObject } from '../../api/object.ts';
import type { AdmissionAttributes } from '../admission/contract.ts';
import { admissionRequestOf } from './admission-request.ts';
import type { MatchedResource } from './resource-matcher.ts';
import { reviewObjects } from './review-objects.ts';

/** Values of `object`, `oldObject` and `request` for a request that matched as `matched`. */
export function requestValues(attributes: AdmissionAttributes, matched: MatchedResource): Record<string, unknown> {
  const view = reviewObjects(matched.own, matched.as, attributes.subresource);
  const valueOf = (object: KubernetesObject | undefined): unknown =>
    object === undefined ? null : dynValue(view.show(object));
  return {
    object: valueOf(attributes.object),
    oldObject: valueOf(attributes.oldObject),
    request: REQUEST_TYPE.value(admissionRequestOf(attributes, matched, view.kind)),
  };
}

/** `namespaceObject`; null for what has no namespace. */
export function namespaceValue(namespace: Namespace | undefined): unknown {
  if (namespace === undefined) return null;
  const { uid, ...metadata } = namespace.metadata;
  return NAMESPACE_TYPE.value({ ...namespace, metadata: { ...metadata, ...(uid === undefined ? {} : { UID: uid }) } });
}

/** `authorizer` of the requesting user, with `requestResource`. */
export function authorizerValue(attributes: AdmissionAttributes, decisions: Decisions): CelAuthorizer {
  const { resource, subresource, namespace, name, context } = attributes;
  const about = {
    apiGroup: resource.group,
    apiVersion: resource.version,
    resource: resource.resource,
    subresource,
    namespace,
    name,
  };
  return new CelAuthorizer({ ...context.user }, decisions, about);
}
