/**
 * Variables expressions of admission may use: object, oldObject, request, namespaceObject, params, authorizer. Upstream:
 * apiserver/pkg/admission/plugin/cel/{compile,composition,condition}.go.
 */
import type { Namespace } from '../../../api/gen/core-v1.ts';
import { AUTHORIZER_TYPE, CelAuthorizer, type Decisions } from '../../../api/cel/libraries/authorizer.ts';
import { BOOL, DYN, INT, listType, mapType, scalarType, STRING, structOf } from '../../../api/cel/value-types.ts';
import { dynValue } from '../../../api/cel/values.ts';
import { timestampOf } from '../../../api/cel/libraries/conversions.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { AdmissionAttributes } from '../contract.ts';
import { admissionRequestOf } from '../matching/admission-request.ts';
import type { MatchedResource } from '../matching/resource-matcher.ts';
import { reviewObjects } from '../matching/review-objects.ts';

const TEXTS = listType(STRING);
const TIMESTAMP = scalarType('google.protobuf.Timestamp', (json) => timestampOf(json as string));
const KIND = structOf('kubernetes.GroupVersionKind', { group: STRING, version: STRING, kind: STRING });
const RESOURCE = structOf('kubernetes.GroupVersionResource', { group: STRING, version: STRING, resource: STRING });
const USER = structOf('kubernetes.UserInfo', {
  username: STRING,
  uid: STRING,
  groups: TEXTS,
  extra: mapType(TEXTS),
});

/** The type of `request`. */
export const REQUEST_TYPE = structOf('kubernetes.AdmissionRequest', {
  kind: KIND,
  resource: RESOURCE,
  subResource: STRING,
  requestKind: KIND,
  requestResource: RESOURCE,
  requestSubResource: STRING,
  name: STRING,
  namespace: STRING,
  operation: STRING,
  userInfo: USER,
  dryRun: BOOL,
  options: DYN,
});

/** The type of `namespaceObject`. */
export const NAMESPACE_TYPE = structOf('kubernetes.Namespace', {
  metadata: structOf('kubernetes.NamespaceMetadata', {
    name: STRING,
    generateName: STRING,
    namespace: STRING,
    labels: mapType(STRING),
    annotations: mapType(STRING),
    UID: STRING,
    creationTimestamp: TIMESTAMP,
    deletionGracePeriodSeconds: INT,
    deletionTimestamp: TIMESTAMP,
    generation: INT,
    resourceVersion: STRING,
    finalizers: TEXTS,
  }),
  spec: structOf('kubernetes.NamespaceSpec', { finalizers: TEXTS }),
  status: structOf('kubernetes.NamespaceStatus', { phase: STRING }),
});

/** The type of `authorizer`. */
export const AUTHORIZER = AUTHORIZER_TYPE;

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
