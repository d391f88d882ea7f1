/** The context of the server's own requests, which have no client that reads warnings or disconnects. */
import { apiVersionOf, type ResourceInfo } from '../api/resource-info.ts';
import type { Principal } from '../api/transport.ts';
import type { ApiVerb, RequestContext } from './request-context.ts';

/** The user of the server's own requests. */
const USER: Principal = { name: 'system:apiserver', groups: ['system:masters'] };
const never = new AbortController().signal;

/** A context for one verb on one object, or on a list where `name` is ''. */
export function ownContext(
  verb: ApiVerb,
  resource: ResourceInfo,
  { namespace = '', name = '' }: { readonly namespace?: string; readonly name?: string } = {},
): RequestContext {
  const root = resource.group === '' ? '/api' : '/apis';
  const within = namespace === '' ? '' : `/namespaces/${namespace}`;
  return {
    info: {
      isResourceRequest: true,
      path: `${root}/${apiVersionOf(resource)}${within}/${resource.resource}/${name}`,
      verb,
      apiGroup: resource.group,
      apiVersion: resource.version,
      namespace,
      resource: resource.resource,
      subresource: '',
      name,
      rest: '',
    },
    user: USER,
    signal: never,
    userAgent: 'keelson',
    addWarning: () => undefined,
    addAuditAnnotation: () => undefined,
  };
}
