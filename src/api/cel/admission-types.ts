/**
 * Types and environments of expressions in admission: match conditions and policies. Upstream:
 * apiserver/pkg/admission/plugin/cel/compile.go.
 */
import { type CelEnvironment, createEnvironment, extendEnvironment } from './environment.ts';
import { AUTHORIZER, RESOURCE_CHECK } from './libraries/authorizer.ts';
import { withMutationTypes } from './mutation-types.ts';
import { timestampOf } from './runtime/times.ts';
import { DYN_TYPE, TIMESTAMP_TYPE, type Type } from './types/type.ts';
import { BOOL, DYN, INT, listType, mapType, scalarType, STRING, structOf } from './value-types.ts';

const TEXTS = listType(STRING);
const TIMESTAMP = scalarType(TIMESTAMP_TYPE, (json) => timestampOf(json as string));
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

/** The variables that an expression may use beside object, oldObject, request and namespaceObject. */
export interface AdmissionVariables {
  readonly hasParams: boolean;
  readonly hasAuthorizer: boolean;
}

/** As upstream, `authorizer.requestResource` is declared as a variable whose name contains the dot. */
export const AUTHORIZER_VARIABLES: Readonly<Record<string, Type>> = {
  authorizer: AUTHORIZER,
  'authorizer.requestResource': RESOURCE_CHECK,
};

const environments = new Map<string, CelEnvironment>();

/** The environment of an admission expression. */
export function admissionEnvironment({ hasParams, hasAuthorizer }: AdmissionVariables): CelEnvironment {
  const key = `${hasParams} ${hasAuthorizer}`;
  const cached = environments.get(key);
  if (cached !== undefined) return cached;
  const made = extendEnvironment(commonEnvironment(), {
    ...(hasParams ? { params: DYN_TYPE } : {}),
    ...(hasAuthorizer ? AUTHORIZER_VARIABLES : {}),
  });
  environments.set(key, made);
  return made;
}

/** The environment of a mutation: that of an admission expression, and object literals. */
export function mutationEnvironment(hasParams: boolean): CelEnvironment {
  const key = `mutation ${hasParams}`;
  const cached = environments.get(key);
  if (cached !== undefined) return cached;
  const made = withMutationTypes(admissionEnvironment({ hasParams, hasAuthorizer: true }));
  environments.set(key, made);
  return made;
}

let common: CelEnvironment | undefined;

function commonEnvironment(): CelEnvironment {
  const variables: Record<string, Type> = {
    object: DYN_TYPE,
    oldObject: DYN_TYPE,
    request: REQUEST_TYPE.type,
    namespaceObject: NAMESPACE_TYPE.type,
  };
  common ??= createEnvironment(variables);
  return common;
}
