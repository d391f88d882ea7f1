/**
 * The span of a request, and those of upstream's handlers within it. Upstream: endpoints/filters/traces.go,
 * endpoints/handlers.
 */
import type { Principal } from '../../api/transport.ts';
import { parseTraceparent } from '../../platform/trace-context.ts';
import type { Span, SpanAttributes, Tracer } from '../../platform/tracing.ts';
import type { ApiVerb, RequestInfo } from '../request-context.ts';
import type { RequestScope } from '../request-scope.ts';
import { recordedUri } from '../request-uri.ts';

/** Only these callers' sampling decisions are followed; other requests start a trace of their own. */
const TRUSTED = new Set(['system:masters', 'system:monitoring']);

const HANDLERS: Partial<Readonly<Record<ApiVerb, string>>> = {
  get: 'Get',
  list: 'List',
  create: 'Create',
  update: 'Update',
  patch: 'Patch',
  delete: 'Delete',
  deletecollection: 'Delete',
};

/** Undefined: the request is not sampled. */
export function startServerSpan(tracer: Tracer, scope: RequestScope): Span | undefined {
  const { request, info, user, receivedMs: startMs } = scope;
  const caller = parseTraceparent(request.headers['traceparent']);
  const parent = caller !== undefined && isTrusted(user) ? caller : undefined;
  const link = parent === undefined ? caller : undefined;
  const span = tracer.start(() => spanName(request.method, info), { parent, link, kind: 'server', startMs });
  span?.set({
    'http.request.method': request.method,
    'http.target': recordedUri(request),
    'url.path': request.path,
    'client.address': request.remoteAddress,
    'user_agent.original': scope.userAgent,
  });
  return span;
}

function isTrusted({ groups }: Principal): boolean {
  return groups.some((group) => TRUSTED.has(group));
}

function spanName(method: string, info: RequestInfo): string {
  if (!info.isResourceRequest) return method;
  const { apiGroup, apiVersion, namespace, resource, name, subresource } = info;
  const group = apiGroup === '' ? '/api' : `/apis/${apiGroup}`;
  const space = namespace === '' ? '' : '/namespaces/{:namespace}';
  const object = name === '' ? '' : '/{:name}';
  return `${method} ${group}/${apiVersion}${space}/${resource}${object}${subresource === '' ? '' : `/${subresource}`}`;
}

/** The span of the verb's handler; undefined for verbs without one upstream. */
export function startHandlerSpan(server: Span, scope: RequestScope): Span | undefined {
  const name = HANDLERS[scope.info.verb];
  return name === undefined ? undefined : server.child(name, { attributes: requestAttributes(scope) });
}

function requestAttributes({ info, request, userAgent }: RequestScope): SpanAttributes {
  const { apiGroup, apiVersion, namespace, resource, name, subresource } = info;
  return {
    'api-group': apiGroup,
    'api-version': apiVersion,
    namespace,
    resource,
    name,
    subresource,
    verb: request.method,
    scope: name !== '' ? 'resource' : namespace !== '' ? 'namespace' : 'cluster',
    client: request.remoteAddress,
    url: info.path,
    'user-agent': userAgent,
  };
}
