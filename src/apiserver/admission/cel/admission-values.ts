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
import { apiVersionOf, type ResourceInfo } from '../../../api/resource-info.ts';
import type { AdmissionAttributes } from '../contract.ts';

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

/** The AdmissionRequest of a request, as webhooks and expressions see it, when it matched as `matched`. */
export function admissionRequestOf(attributes: AdmissionAttributes, matched: ResourceInfo): Record<string, unknown> {
  const { resource, subresource, operation, context } = attributes;
  const kindOf = (info: ResourceInfo): object => {
    const sub = subresource === '' ? undefined : info.subresources.find((one) => one.name === subresource);
    const { group, version, kind } = sub ?? info;
    return { group, version, kind };
  };
  const resourceOf = (info: ResourceInfo): object => ({
    group: info.group,
    version: info.version,
    resource: info.resource,
  });
  const { name: username, uid, groups, extra } = context.user;
  return {
    kind: kindOf(matched),
    resource: resourceOf(matched),
    subResource: subresource,
    requestKind: kindOf(resource as ResourceInfo),
    requestResource: resourceOf(resource as ResourceInfo),
    requestSubResource: subresource,
    name: attributes.name,
    namespace: attributes.namespace,
    operation,
    userInfo: { username, ...(uid === undefined ? {} : { uid }), groups, ...(extra === undefined ? {} : { extra }) },
    dryRun: attributes.dryRun,
    options: attributes.options,
  };
}

/** An object with its apiVersion and kind, which stored and decoded ones may lack. */
export function withKind<T extends KubernetesObject>(
  object: T,
  kind: { group: string; version: string; kind: string },
): T {
  if (object.kind !== undefined && object.apiVersion !== undefined) return object;
  return { ...object, apiVersion: object.apiVersion ?? apiVersionOf(kind), kind: object.kind ?? kind.kind };
}

/** The objects of a request as values. */
export function objectValues(
  attributes: AdmissionAttributes,
  matched: ResourceInfo,
): { readonly object: unknown; readonly oldObject: unknown } {
  const { subresource } = attributes;
  const sub = subresource === '' ? undefined : matched.subresources.find((one) => one.name === subresource);
  const valueOf = (object: KubernetesObject | undefined): unknown =>
    object === undefined ? null : dynValue(withKind(object, sub ?? matched));
  return { object: valueOf(attributes.object), oldObject: valueOf(attributes.oldObject) };
}

/** `request`. */
export function requestValue(attributes: AdmissionAttributes, matched: ResourceInfo): unknown {
  return REQUEST_TYPE.value(admissionRequestOf(attributes, matched));
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
