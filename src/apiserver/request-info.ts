/**
 * Parses verb, resource and name from method, path and query. Upstream: request.RequestInfoFactory.
 *
 * Paths are `/api/v1/…` and `/apis/<group>/<version>/…`; the deprecated `watch/` prefix still means the verb watch.
 * The same paths behind `/keelson/v1/VIEW` request a view of the object or list (`object-views.ts`).
 *
 * Authorization and handlers both use this result only: no handler parses names, namespaces or selectors again.
 */
import { parseGoBoolean } from '../base/go-boolean.ts';
import { requiredFieldValue } from '../api/field-selector.ts';
import { boundedFieldSelector } from './generic-registry/bounded-selectors.ts';
import { badRequest } from '../api/status-error.ts';
import { noParams } from './query-params.ts';
import type { ApiVerb, RequestInfo } from './request-context.ts';

/** The parts of the request line. */
export interface RequestLine {
  readonly method: string;
  /** Raw path. */
  readonly path: string;
  readonly params: URLSearchParams;
}

const METHOD_VERBS: ReadonlyMap<string, ApiVerb> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);

const NAMESPACE_SUBRESOURCES = new Set(['status', 'finalize']);

/** Verbs whose selectors are part of the authorization. */
const SELECTOR_VERBS: ReadonlySet<ApiVerb> = new Set(['list', 'watch', 'deletecollection']);

function nonResource(line: RequestLine): RequestInfo {
  return {
    isResourceRequest: false,
    path: line.path,
    verb: line.method.toLowerCase() as ApiVerb,
    apiGroup: '',
    apiVersion: '',
    ...NOWHERE,
  };
}

interface RequestTarget {
  namespace: string;
  resource: string;
  name: string;
  subresource: string;
  rest: string;
}

const NOWHERE: RequestTarget = { namespace: '', resource: '', name: '', subresource: '', rest: '' };

function locate(parts: readonly string[], start: number): RequestTarget {
  let at = start;
  let namespace = '';
  if (parts[at] === 'namespaces' && parts.length > at + 1) {
    namespace = parts[at + 1]!;
    if (parts.length > at + 2 && !NAMESPACE_SUBRESOURCES.has(parts[at + 2]!)) at += 2;
  }
  return {
    namespace,
    resource: parts[at] ?? '',
    name: parts[at + 1] ?? '',
    subresource: parts[at + 2] ?? '',
    rest: parts.length <= at + 3 ? '' : parts.slice(at + 3).join('/'),
  };
}

/** Go's strconv.ParseBool on a query value; an empty value means true, as upstream converts it. */
export function isTrue(value: string | null): boolean {
  if (value === null) return false;
  return parseGoBoolean(value) !== false;
}

/**
 * The name in the field selector of a list or watch, for authorization. As upstream, a text that cannot be a path
 * segment is ignored.
 */
function nameFromSelector(text: string | undefined): string {
  if (text === undefined || text === '') return '';
  try {
    const name = requiredFieldValue(boundedFieldSelector(text), 'metadata.name') ?? '';
    return name === '.' || name === '..' || /[/%]/.test(name) ? '' : name;
  } catch {
    return '';
  }
}

/**
 * The path's segments. The path is unescaped first, as in Go, so that an escaped slash also separates segments.
 * Throws 400.
 */
function partsOf(path: string): readonly string[] {
  let text = path;
  if (path.includes('%')) {
    try {
      text = decodeURIComponent(path);
    } catch {
      throw badRequest(`invalid URL escape in path ${JSON.stringify(path)}`);
    }
  }
  let start = 0;
  let end = text.length;
  while (text[start] === '/') start++;
  while (end > start && text[end - 1] === '/') end--;
  return text.slice(start, end).split('/');
}

/** Whether a segment that must be a name is empty or missing: `//`, or `watch` at the end. */
function lacksName(parts: readonly string[], at: number): boolean {
  const isPrefixed = parts[at] === 'namespaces' && parts.length > at + 2 && !NAMESPACE_SUBRESOURCES.has(parts[at + 2]!);
  const empty = parts.indexOf('');
  return at >= parts.length || (empty >= 0 && empty < at + (isPrefixed ? 5 : 3));
}

/** Parses a request line. Throws 400 for a path that is not valid percent encoding. */
export function parseRequestInfo(line: RequestLine): RequestInfo {
  const parts = partsOf(line.path);
  if (parts[0] === 'api' || parts[0] === 'apis') return parseApiPath(parts, line);
  return parseViewPath(parts, line) ?? nonResource(line);
}

/** Parses `/keelson/v1/VIEW/` before the path of an object or list: a read, authorized like a read of that path. */
function parseViewPath(parts: readonly string[], line: RequestLine): RequestInfo | undefined {
  if (parts[0] !== 'keelson' || parts[1] !== 'v1' || (parts[3] !== 'api' && parts[3] !== 'apis')) return undefined;
  const info = parseApiPath(parts.slice(3), line);
  if (!info.isResourceRequest || info.resource === '' || info.subresource !== '' || info.viaWatchPath === true)
    return undefined;
  const isRead = (info.verb === 'get' && info.name !== '') || (info.verb === 'list' && line.method === 'GET');
  return isRead ? { ...info, view: parts[2]! } : undefined;
}

function parseApiPath(parts: readonly string[], line: RequestLine): RequestInfo {
  const legacy = parts[0] === 'api';
  const prefix = legacy ? 2 : 3;
  if (parts.length <= prefix) return nonResource(line);
  const viaWatchPath = parts[prefix] === 'watch';
  const at = viaWatchPath ? prefix + 1 : prefix;
  const common = {
    isResourceRequest: true,
    path: line.path,
    apiGroup: legacy ? '' : parts[1]!,
    apiVersion: parts[prefix - 1]!,
    viaWatchPath,
  };
  const verb = viaWatchPath ? 'watch' : (METHOD_VERBS.get(line.method) ?? '');
  if (lacksName(parts, at)) return { ...common, verb, ...NOWHERE };
  const located = locate(parts, at);
  if (viaWatchPath) return { ...common, verb, ...located };
  if (located.name !== '') return { ...common, verb, ...located };
  return { ...common, ...ofCollection(line, verb, located) };
}

/** The verb and selectors of a request without a name in its path: list, watch or deletecollection. */
function ofCollection(
  { params }: RequestLine,
  methodVerb: ApiVerb,
  located: RequestTarget,
): RequestTarget & Pick<RequestInfo, 'verb' | 'labelSelector' | 'fieldSelector'> {
  let verb = methodVerb;
  if (verb === 'get') verb = isTrue(params.get('watch')) ? 'watch' : 'list';
  else if (verb === 'delete') verb = 'deletecollection';
  if (params === noParams || !SELECTOR_VERBS.has(verb)) return { verb, ...located };
  const labelSelector = params.get('labelSelector') ?? undefined;
  const fieldSelector = params.get('fieldSelector') ?? undefined;
  return {
    verb,
    ...located,
    name: verb === 'deletecollection' ? '' : nameFromSelector(fieldSelector),
    labelSelector,
    fieldSelector,
  };
}
