/** Serves discovery. Documents are made once per set of resources. Aggregated discovery carries an ETag. */
import { parseJson } from '../../api/codec/json.ts';
import { noSuchPath } from '../../api/status-error.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { ApiResponse } from '../../api/transport.ts';
import type { CryptoPort } from '../../platform/crypto.ts';
import type { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import { parseAccept } from '../../api/accept.ts';
import type { NonResourceRoute } from '../non-resource-routes.ts';
import type { RequestScope } from '../request-scope.ts';
import { isPrettyPrint, prettyOf } from '../json-text.ts';
import { CACHE_CONTROL, objectResponse } from '../responses.ts';
import { aggregatedText, apiGroup, apiGroupList, apiResourceList, apiVersions } from './documents.ts';
import { type ForeignVersion, type GroupEntry, groupResources } from './groups.ts';

export interface DiscoveryDeps {
  readonly registry: ResourceRegistry;
  /** Versions beside the registry, and their changes. */
  readonly foreign?: { versions(): readonly ForeignVersion[]; onChange(listener: () => void): void };
  readonly crypto: CryptoPort;
  /** `host:port` clients reach this server at. */
  readonly serverAddress: string;
}

interface Aggregate {
  readonly bytes: Uint8Array;
  readonly etag: string;
}

/**
 * The last documents made, by their text: those of many servers in one process are equal, and then share their bytes, by
 * which clients in the process know them again.
 */
const recent = new Map<string, Aggregate>();
const MAX_RECENT = 8;

function aggregateOf(text: string, crypto: CryptoPort): Aggregate {
  let aggregate = recent.get(text);
  if (aggregate === undefined) {
    aggregate = { bytes: Buffer.from(text), etag: `"${crypto.sha256Hex(text).toUpperCase()}"` };
    if (recent.size >= MAX_RECENT) recent.delete(recent.keys().next().value!);
    recent.set(text, aggregate);
  }
  return aggregate;
}

class DiscoveryCache {
  readonly #deps: DiscoveryDeps;
  #groups: readonly GroupEntry[] | undefined;
  readonly #aggregates = new Map<string, Aggregate>();

  constructor(deps: DiscoveryDeps) {
    this.#deps = deps;
    const forget = (): void => {
      this.#groups = undefined;
      this.#aggregates.clear();
    };
    deps.registry.onChange(forget);
    deps.foreign?.onChange(forget);
  }

  get groups(): readonly GroupEntry[] {
    const { registry, foreign } = this.#deps;
    this.#groups ??= groupResources(
      [...registry.served].map((store) => store.info),
      foreign?.versions(),
    );
    return this.#groups;
  }

  aggregate(core: boolean, version: string): Aggregate {
    const key = `${core} ${version}`;
    let cached = this.#aggregates.get(key);
    if (cached === undefined) {
      cached = aggregateOf(aggregatedText(this.groups, { core, version }), this.#deps.crypto);
      this.#aggregates.set(key, cached);
    }
    return cached;
  }
}

/** The aggregated discovery the client prefers over the legacy form, if any. */
function aggregatedForm(scope: RequestScope): { readonly version: string; readonly isPretty: boolean } | undefined {
  for (const { type, params } of parseAccept(scope.request.headers['accept'] ?? '')) {
    if (type !== 'application/json') continue;
    const { g, v, as } = params;
    if (as === undefined) return undefined;
    if (g === 'apidiscovery.k8s.io' && as === 'APIGroupDiscoveryList' && (v === 'v2' || v === 'v2beta1'))
      return { version: v, isPretty: params['pretty'] === '1' || isPrettyPrint(scope.request) };
  }
  return undefined;
}

function root(
  cache: DiscoveryCache,
  scope: RequestScope,
  { core, legacy }: { core: boolean; legacy: () => object },
): ApiResponse {
  const form = aggregatedForm(scope);
  if (form === undefined) return objectResponse(scope.request, { object: legacy(), headers: { vary: 'Accept' } });
  const { version, isPretty } = form;
  const { bytes, etag } = cache.aggregate(core, version);
  const contentType = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  const headers = { 'content-type': contentType, 'cache-control': CACHE_CONTROL, etag, vary: 'Accept' };
  if (scope.request.headers['if-none-match'] === etag) return { kind: 'bytes', status: 304, headers, chunks: [] };
  const chunk = isPretty ? prettyOf(parseJson(Buffer.from(bytes).toString()).value as object) : bytes;
  return { kind: 'bytes', status: 200, headers, chunks: [chunk] };
}

/**
 * Tells clients that migrate what is stored when a server stores another version. Upstream: endpoints/discovery
 * StorageVersionHash.
 */
function storageVersionHash({ registry, crypto }: DiscoveryDeps, info: ResourceInfo): string | undefined {
  const store = registry.find(info.group, info.version, info.resource);
  if (store === undefined || store.definition.storagePrefix === '') return undefined;
  const { group, version, kind } = store.stored.info;
  return Buffer.from(crypto.sha256Hex(`${group}/${version}/${kind}`).slice(0, 16), 'hex').toString('base64');
}

/** Routes `/api` and `/apis` and what is below them outside the resources. */
export function discoveryRoutes(deps: DiscoveryDeps): NonResourceRoute[] {
  const cache = new DiscoveryCache(deps);
  const list = (scope: RequestScope, group: string, version: string): ApiResponse => {
    const entry = cache.groups.find((one) => one.group === group)?.versions.find((one) => one.version === version);
    if (entry === undefined) throw noSuchPath();
    const hashOf = (info: ResourceInfo): string | undefined => storageVersionHash(deps, info);
    return objectResponse(scope.request, { object: apiResourceList(group, entry, hashOf) });
  };
  const below = (scope: RequestScope): ApiResponse => {
    const [, , group = '', version, ...rest] = scope.request.path.split('/');
    const entry = cache.groups.find((one) => one.group === group);
    if (entry === undefined || rest.some((part) => part !== '')) throw noSuchPath();
    if (version === undefined || version === '')
      return objectResponse(scope.request, { object: { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(entry) } });
    return list(scope, group, version);
  };
  return [
    {
      path: '/api',
      serve: (scope) => root(cache, scope, { core: true, legacy: () => apiVersions(deps.serverAddress) }),
    },
    { path: '/api/v1', serve: (scope) => list(scope, '', 'v1') },
    {
      path: '/apis',
      prefix: true,
      serve: (scope) =>
        isRoot(scope) ? root(cache, scope, { core: false, legacy: () => apiGroupList(cache.groups) }) : below(scope),
    },
  ];
}

function isRoot(scope: RequestScope): boolean {
  return scope.request.path === '/apis' || scope.request.path === '/apis/';
}
