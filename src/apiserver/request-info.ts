/**
 * Reads verb, resource and name out of method, path and query. Upstream: request.RequestInfoFactory.
 *
 * Paths are `/api/v1/…` and `/apis/<group>/<version>/…`; the deprecated `watch/` prefix still means the verb watch.
 */
import { parseGoBoolean } from '../base/go-boolean.ts';
import { parseFieldSelector, requiredFieldValue } from '../api/field-selector.ts';
import { badRequest } from '../api/status-error.ts';
import type { ApiVerb, RequestInfo } from './request-context.ts';

/** The request's line, taken apart. */
export interface RequestLine {
  readonly method: string;
  /** Raw path. */
  readonly path: string;
  readonly params: URLSearchParams;
}

const methodVerbs: Readonly<Record<string, ApiVerb>> = {
  POST: 'create',
  GET: 'get',
  HEAD: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

const namespaceSubresources = new Set(['status', 'finalize']);

/** No query at all; shared, never changed. */
export const noParams = new URLSearchParams();

function decode(segment: string): string {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    throw badRequest(`invalid URL escape in path segment ${JSON.stringify(segment)}`);
  }
}

function nonResource(line: RequestLine): RequestInfo {
  return {
    isResourceRequest: false,
    path: line.path,
    verb: line.method.toLowerCase() as ApiVerb,
    apiGroup: '',
    apiVersion: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    rest: '',
  };
}

interface Located {
  namespace: string;
  resource: string;
  name: string;
  subresource: string;
  rest: string;
}

function locate(parts: readonly string[]): Located {
  let at = 0;
  let namespace = '';
  if (parts[0] === 'namespaces' && parts.length > 1) {
    namespace = decode(parts[1]!);
    if (parts.length > 2 && !namespaceSubresources.has(parts[2]!)) at = 2;
  }
  return {
    namespace,
    resource: decode(parts[at] ?? ''),
    name: decode(parts[at + 1] ?? ''),
    subresource: decode(parts[at + 2] ?? ''),
    rest:
      parts.length <= at + 3
        ? ''
        : parts
            .slice(at + 3)
            .map(decode)
            .join('/'),
  };
}

/** Go's strconv.ParseBool on a query value; an empty value means true, as upstream converts it. */
export function isTrue(value: string | null): boolean {
  if (value === null) return false;
  return parseGoBoolean(value) !== false;
}

function nameFromSelector(text: string | null): string {
  if (text === null || text === '') return '';
  try {
    return requiredFieldValue(parseFieldSelector(text), 'metadata.name') ?? '';
  } catch {
    return '';
  }
}

/** The path's parts that say something: of nearly every path all but what is before its first slash. */
function partsOf(path: string): readonly string[] {
  const parts = path.split('/');
  const isPlain = parts[0] === '' && parts.indexOf('', 1) < 0;
  return isPlain ? parts.slice(1) : parts.filter((part) => part !== '');
}

/** Parses a request line. Throws 400 for a path that is not valid percent encoding. */
export function parseRequestInfo(line: RequestLine): RequestInfo {
  const parts = partsOf(line.path);
  const legacy = parts[0] === 'api';
  if (!legacy && parts[0] !== 'apis') return nonResource(line);
  const prefix = legacy ? 2 : 3;
  if (parts.length <= prefix) return nonResource(line);
  let verb: ApiVerb = methodVerbs[line.method] ?? 'get';
  let rest = parts.slice(prefix);
  const deprecatedWatch = rest[0] === 'watch';
  if (deprecatedWatch) {
    rest = rest.slice(1);
    if (rest.length === 0) return nonResource(line);
  }
  const located = locate(rest);
  const hasQuery = line.params !== noParams;
  const labelSelector = hasQuery ? (line.params.get('labelSelector') ?? undefined) : undefined;
  const fieldSelector = hasQuery ? (line.params.get('fieldSelector') ?? undefined) : undefined;
  if (deprecatedWatch) verb = 'watch';
  else if (located.name === '') {
    if (verb === 'get') verb = isTrue(line.params.get('watch')) ? 'watch' : 'list';
    else if (verb === 'delete') verb = 'deletecollection';
    if (verb === 'list' || verb === 'watch' || verb === 'deletecollection') {
      located.name = nameFromSelector(fieldSelector ?? null);
    }
  }
  return {
    isResourceRequest: true,
    path: line.path,
    verb,
    apiGroup: legacy ? '' : decode(parts[1]!),
    apiVersion: decode(parts[prefix - 1]!),
    ...located,
    ...(labelSelector === undefined ? {} : { labelSelector }),
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
  };
}
