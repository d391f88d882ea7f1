// Operations that belong to no resource: discovery, the version, and the keys of service account tokens.

import { OBJECT_TYPES } from './media-types.ts';
import { groupVersionRoot, namesOf, type OperationFact, type PathFact } from './operation-facts.ts';

interface ReadOperation {
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  readonly result: string | undefined;
  readonly produces: OperationFact['produces'];
  /** Default: the types of objects where it produces them. */
  readonly consumes?: readonly string[];
}

function pathOf(path: string, { produces, consumes, ...read }: ReadOperation): PathFact {
  const bodyTypes = consumes ?? (produces === 'object' ? OBJECT_TYPES : []);
  const operation = { ...read, produces, bodyTypes, method: 'get', parameters: [], body: undefined } as const;
  return { path, parameters: [], operations: [{ ...operation, codes: ['200'] }] };
}

const discovery = (id: string, tag: string, result: string): ReadOperation => ({
  id,
  tag,
  description: 'discovery of API groups, versions and resources',
  result: `meta.v1.${result}`,
  produces: 'object',
});

/** Paths that every server has, by the path of their v3 document. */
export const serverPaths: Readonly<Record<string, PathFact>> = {
  api: pathOf('/api/', discovery('getCoreAPIVersions', 'core', 'APIVersions')),
  apis: pathOf('/apis/', discovery('getAPIVersions', 'apis', 'APIGroupList')),
  version: pathOf('/version/', {
    id: 'getCodeVersion',
    tag: 'version',
    description: "the server's version",
    result: 'version.Info',
    produces: 'json',
    consumes: ['application/json'],
  }),
  '.well-known/openid-configuration': pathOf('/.well-known/openid-configuration/', {
    id: 'getServiceAccountIssuerOpenIDConfiguration',
    tag: 'WellKnown',
    description: 'the OpenID configuration of the issuer of service account tokens',
    result: undefined,
    produces: 'json',
  }),
  'openid/v1/jwks': pathOf('/openid/v1/jwks/', {
    id: 'getServiceAccountIssuerOpenIDKeyset',
    tag: 'openid',
    description: 'the keys that verify service account tokens',
    result: undefined,
    produces: 'keys',
  }),
};

/** The discovery path of a group, `/apis/<group>/`; the core group has none. */
export function groupPath(group: string): PathFact {
  const { groupId, groupTag } = namesOf({ group, version: '' });
  return pathOf(`/apis/${group}/`, discovery(`get${groupId}APIGroup`, groupTag, 'APIGroup'));
}

/** The discovery path of a group version: `/api/v1/` or `/apis/<group>/<version>/`. */
export function groupVersionPath(groupVersion: { readonly group: string; readonly version: string }): PathFact {
  const { id, tag } = namesOf(groupVersion);
  return pathOf(
    `${groupVersionRoot(groupVersion.group, groupVersion.version)}/`,
    discovery(`get${id}APIResources`, tag, 'APIResourceList'),
  );
}
