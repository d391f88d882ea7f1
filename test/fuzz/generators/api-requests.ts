// Requests of every verb for every built-in resource and subresource.
import type { ResourceInfo, SubresourceInfo } from '../../../src/api/resource-info.ts';
import { chance, pick, type Random, weighted } from '../draw.ts';
import type { HttpExchange } from '../exchange.ts';
import { hostileStrings } from '../values/hostile.ts';
import { type Body, encoded, mutatedJson, objectBody } from './bodies.ts';
import { headersOf } from './headers.ts';
import { names, namespaces, objectOf, resources } from './objects.ts';
import { patchBody } from './patches.ts';
import { queryOf } from './queries.ts';

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly query?: readonly string[];
  readonly body?: Body | undefined;
}

const hostileSegments = [
  '..',
  '.',
  '%2e%2e',
  '%2F',
  '%00',
  '%ff',
  '',
  'A',
  'a b',
  '__proto__',
  'constructor',
  'é',
  ...hostileStrings,
];

/** A path segment, sometimes replaced by a hostile one. */
export function segment(random: Random, usual: string, probability = 0.02): string {
  if (!chance(random, probability)) return usual;
  try {
    return encodeURIComponent(pick(random, hostileSegments));
  } catch {
    return '%ED%A0%80';
  }
}

export function collectionPath(random: Random, info: ResourceInfo): string {
  const root = info.group === '' ? `/api/${info.version}` : `/apis/${segment(random, info.group)}/${info.version}`;
  const isScoped = info.namespaced ? !chance(random, 0.05) : chance(random, 0.01);
  const namespace = isScoped ? `/namespaces/${segment(random, pick(random, namespaces))}` : '';
  return `${root}${namespace}/${segment(random, info.resource)}`;
}

/** An exchange for the request, with random query, headers and protocol. */
export function exchangeOf(random: Random, request: Request): HttpExchange {
  const body = request.body && encoded(random, request.body);
  const headers = [...headersOf(random, request.body?.contentType), ...(body?.headers ?? [])];
  return {
    kind: 'http',
    over: chance(random, 0.5) ? 'h1' : 'h2',
    method: request.method,
    path: request.path + queryOf(random, request.query),
    headers: headers.map(([name, value]) => [name, Buffer.from(value).toString('latin1')]),
    ...(body && { body: body.text }),
  };
}

const deleteOptions = {
  kind: 'DeleteOptions',
  apiVersion: 'v1',
  gracePeriodSeconds: 0,
  propagationPolicy: 'Background',
  preconditions: { uid: 'u', resourceVersion: '1' },
  dryRun: ['All'],
};

function deleteBody(random: Random): Body | undefined {
  if (chance(random, 0.6)) return undefined;
  const { preconditions, dryRun, ...plain } = deleteOptions;
  const options = chance(random, 0.5) ? plain : { ...plain, preconditions, dryRun };
  return { contentType: 'application/json', text: mutatedJson(random, options) };
}

const can = (info: ResourceInfo, verb: string): boolean => info.verbs.includes(verb);

/** Without hostile segments: an empty name is a collection, and the cluster's own objects must stay. */
function deleteRequest(random: Random, info: ResourceInfo): Request {
  const root = info.group === '' ? `/api/${info.version}` : `/apis/${info.group}/${info.version}`;
  const collection = `${root}${info.namespaced ? '/namespaces/fuzz' : ''}/${info.resource}`;
  const isCollection = info.namespaced && chance(random, 0.12);
  const path = isCollection ? collection : `${collection}/${pick(random, names)}`;
  return { method: 'DELETE', path, body: deleteBody(random) };
}

function requestFor(random: Random, info: ResourceInfo): Request {
  const collection = collectionPath(random, info);
  const one = `${collection}/${segment(random, pick(random, names))}`;
  const extra = pick(random, [0, 0.3, 0.6]);
  const object = objectOf(random, info, extra);
  return weighted<() => Request>(random, [
    [30, () => ({ method: 'POST', path: collection, body: objectBody(random, object) })],
    [can(info, 'update') ? 12 : 1, () => ({ method: 'PUT', path: one, body: objectBody(random, object) })],
    [can(info, 'patch') ? 22 : 1, () => ({ method: 'PATCH', path: one, body: patchBody(random, object) })],
    [6, () => ({ method: 'GET', path: one })],
    [6, () => ({ method: 'GET', path: collection })],
    [3, () => ({ method: 'GET', path: collection, query: ['watch=1', `timeoutSeconds=${1 + random.int(3)}`] })],
    [1, () => ({ method: 'GET', path: collection.replace(/^\/(api\/v1|apis\/[^/]*\/[^/]*)/, '$&/watch') })],
    [can(info, 'delete') ? 6 : 1, () => deleteRequest(random, info)],
    [1, () => ({ method: pick(random, ['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'GET', 'POST']), path: one })],
    [info.subresources.length > 0 ? 14 : 0, () => subresourceRequest(random, info, one)],
    [
      1,
      () => ({
        method: 'GET',
        path: `${one}/${segment(random, pick(random, ['status', 'x', 'constructor', '__proto__']))}`,
      }),
    ],
  ])();
}

function subresourceRequest(random: Random, info: ResourceInfo, one: string): Request {
  const subresource: SubresourceInfo = pick(random, info.subresources);
  const path = `${one}/${subresource.name}${subresource.name === 'proxy' && chance(random, 0.5) ? '/a//../b%2f' : ''}`;
  const object = objectOf(random, subresource, pick(random, [0, 0.4]));
  return weighted<() => Request>(random, [
    [2, () => ({ method: 'GET', path })],
    [3, () => ({ method: 'PUT', path, body: objectBody(random, object) })],
    [3, () => ({ method: 'PATCH', path, body: patchBody(random, object) })],
    [3, () => ({ method: 'POST', path, body: objectBody(random, object) })],
  ])();
}

/** A request for a random built-in resource. */
export function apiRequest(random: Random): HttpExchange {
  return exchangeOf(random, requestFor(random, pick(random, resources)));
}

const otherPaths = [
  '/',
  '/api',
  '/apis',
  '/api/v1',
  '/apis/apps',
  '/apis/apps/v1',
  '/openapi/v2',
  '/openapi/v3',
  '/openapi/v3/apis/apps/v1',
  '/version',
  '/healthz',
  '/livez',
  '/livez/ping',
  '/readyz',
  '/readyz/etcd',
  '/metrics',
  '/metrics/slis',
  '/debug/pprof/',
  '/debug/api_priority_and_fairness/dump_requests',
  '/statusz',
  '/flagz',
  '/configz',
  '/logs/',
  '/.well-known/openid-configuration',
  '/openid/v1/jwks',
  '/favicon.ico',
  '/api/v2',
  '/apis/__proto__/v1',
  '/apis/constructor',
  '/api/v1/toString',
  '//api/v1/pods',
  '/api//v1/pods',
  '/api/v1/../../etc',
  '/api/v1/namespaces//pods',
  '/api/v1/namespaces/fuzz',
  '/apis/apps/v1/watch/deployments',
  '*',
  '/%',
  '/\u0080',
];

/** Discovery, health, documents, and paths that are not served. */
export function otherRequest(random: Random): HttpExchange {
  const method = chance(random, 0.85)
    ? 'GET'
    : pick(random, ['HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'x']);
  const query = chance(random, 0.2) ? ['verbose', 'exclude=etcd', 'timeout=1h', 'hash=x', 'allowed=%'] : [];
  return exchangeOf(random, { method, path: pick(random, otherPaths), query: query.slice(random.int(5)) });
}
