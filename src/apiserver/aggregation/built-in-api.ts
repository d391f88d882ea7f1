/** A group version that this server serves without resource definitions and without storage. */
import type { APIResourceDiscovery } from '../../api/gen/apidiscovery-v2.ts';
import type { APIResourceList } from '../../api/gen/meta-v1.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { RequestScope } from '../request-scope.ts';

/** The API. An APIService with a service of its own replaces it. */
export interface BuiltInApi {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly APIResourceDiscovery[];
  /** Answers a request on one of the resources. Throws or rejects with StatusErrors. */
  serve(scope: RequestScope): ApiResponse | Promise<ApiResponse>;
}

/** What `/apis/<group>/<version>` answers. */
export function plainResourceList({ group, version, resources }: BuiltInApi): APIResourceList {
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: `${group}/${version}`,
    resources: resources.map(({ resource, responseKind, scope, singularResource, verbs, shortNames }) => ({
      name: resource,
      singularName: singularResource,
      namespaced: scope === 'Namespaced',
      kind: responseKind?.kind ?? '',
      verbs,
      ...(shortNames === undefined ? {} : { shortNames }),
    })),
  };
}
