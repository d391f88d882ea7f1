/** `/openapi/v2` and `/openapi/v3`. Upstream: kube-openapi's handlers. */
import { trimEndOf } from '../../base/trim-end.ts';
import { createOpenApi, type DocumentText, type OpenApi } from '../../api/openapi/open-api.ts';
import { noSuchPath, notAcceptable } from '../../api/status-error.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { ApiHeaders, ApiResponse } from '../../api/transport.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Aggregator } from '../aggregation/aggregator.ts';
import type { ResourceRegistry } from '../generic-registry/resource-registry.ts';
import { parseAccept } from '../../api/accept.ts';
import type { NonResourceRoute } from '../non-resource-routes.ts';
import { paceOf, Turns } from '../turns.ts';
import type { RequestScope } from '../request-scope.ts';
import { CACHE_CONTROL } from '../responses.ts';

/** The documents of custom resources. */
export type CustomOpenApi = Pick<Parameters<typeof createOpenApi>[0], 'extraV2' | 'extraV3'>;

export interface OpenApiDeps {
  readonly registry: ResourceRegistry;
  readonly gitVersion: string;
  readonly clock: Clock;
  /** Called whenever the set of resources has changed. */
  readonly custom?: () => CustomOpenApi;
  /** The API documents of other servers, and their changes. */
  readonly foreign?: Pick<Aggregator, 'descriptions' | 'onChange'>;
}

const PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
/**
 * The accepted types and the type of the response: the name with `@`, which old clients send, is no valid media type.
 */
const V2_TYPES: readonly { readonly type: string; readonly answer: string; readonly protobuf: boolean }[] = [
  { type: 'application/json', answer: 'application/json', protobuf: false },
  { type: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf', answer: PROTOBUF_TYPE, protobuf: true },
  { type: PROTOBUF_TYPE, answer: PROTOBUF_TYPE, protobuf: true },
];

function isCurrent(scope: RequestScope, etag: string): boolean {
  return scope.request.headers['if-none-match'] === etag;
}

function documentResponse(scope: RequestScope, headers: ApiHeaders, bytes: () => Uint8Array): ApiResponse {
  const etag = String(headers['etag']);
  if (isCurrent(scope, etag)) return { kind: 'bytes', status: 304, headers, chunks: [] };
  return { kind: 'bytes', status: 200, headers, chunks: [bytes()] };
}

/**
 * Shared by responses in progress, each of which would copy more than a megabyte. Weak, so that nothing is kept after
 * them.
 */
const sharedBytes = new WeakMap<DocumentText, WeakRef<Uint8Array>>();

function bytesOf(document: DocumentText): Uint8Array {
  let bytes = sharedBytes.get(document)?.deref();
  if (bytes === undefined) sharedBytes.set(document, new WeakRef((bytes = Buffer.from(document.text))));
  return bytes;
}

/** Lets waiting requests continue in separate turns after the shared work. */
async function sharedWork<T>(work: T | Promise<T>, scope: RequestScope): Promise<T> {
  if (!(work instanceof Promise)) return work;
  const made = await work;
  await scope.turn();
  return made;
}

async function serveV2(openApi: OpenApi, scope: RequestScope, clock: Clock): Promise<ApiResponse> {
  const accept = scope.request.headers['accept'] ?? '';
  const clauses = accept === '' ? [{ type: 'application/json', params: {} }] : parseAccept(accept);
  for (const { type } of clauses) {
    const match = type === '*/*' || type === 'application/*' ? V2_TYPES[0] : V2_TYPES.find((one) => one.type === type);
    if (match === undefined) continue;
    const turns = new Turns(paceOf(scope.request, clock));
    const pause = (): Promise<void> | undefined => turns.next();
    const document = await sharedWork(openApi.v2Text(pause), scope);
    const headers = {
      'content-type': match.answer,
      etag: `"${document.hash}"`,
      vary: 'Accept',
      'cache-control': CACHE_CONTROL,
    };
    const isAsked = match.protobuf && !isCurrent(scope, headers.etag);
    const bytes = isAsked ? await sharedWork(openApi.v2Protobuf(pause), scope) : undefined;
    return documentResponse(scope, headers, () => bytes ?? bytesOf(document));
  }
  throw notAcceptable(`only the following media types are accepted: ${V2_TYPES.map(({ type }) => type).join(', ')}`);
}

function serveV3(openApi: OpenApi, scope: RequestScope): ApiResponse {
  const path = trimEndOf(scope.request.path.slice('/openapi/v3'.length).replace(/^\/+/, ''), '/');
  if (path === '') {
    const bytes = Buffer.from(JSON.stringify(openApi.v3Index()));
    return {
      kind: 'bytes',
      status: 200,
      headers: { 'content-type': 'application/json', 'cache-control': CACHE_CONTROL },
      chunks: [bytes],
    };
  }
  const document = openApi.v3(path);
  if (document === undefined) throw noSuchPath();
  const asked = scope.params.get('hash');
  if (asked !== null && asked !== document.hash) {
    return {
      kind: 'bytes',
      status: 301,
      headers: { location: `/openapi/v3/${path}?hash=${document.hash}` },
      chunks: [],
    };
  }
  // A document under its hash never changes, so clients may cache it.
  const caching = asked === null ? CACHE_CONTROL : 'public, immutable';
  const headers = {
    'content-type': 'application/json',
    etag: `"${document.hash}"`,
    vary: 'Accept',
    'cache-control': caching,
  };
  return documentResponse(scope, headers, () => bytesOf(document));
}

/** The OpenAPI routes. Documents are built on first request and again when the resources change. */
export function openApiRoutes({ registry, gitVersion, clock, custom, foreign }: OpenApiDeps): NonResourceRoute[] {
  let current: OpenApi | undefined;
  registry.onChange(() => (current = undefined));
  foreign?.onChange(() => (current = undefined));
  const get = (): OpenApi => {
    if (current !== undefined) return current;
    const builtin = [...registry.served].filter((store) => store.definition.schema === undefined);
    const resources = builtin.map((store) => store.info);
    const returning = new Set(
      builtin.filter(({ definition }) => definition.returnsDeleted === true).map(({ info }) => info),
    );
    const returnsDeleted = (info: ResourceInfo): boolean => returning.has(info);
    const { extraV2, extraV3 } = custom?.() ?? {};
    const { v2: foreignV2, v3: foreignV3 } = foreign?.descriptions() ?? { v2: [], v3: new Map() };
    current = createOpenApi({
      gitVersion,
      resources,
      returnsDeleted,
      extraV2,
      extraV3,
      foreignV2,
      foreignV3,
    });
    return current;
  };
  return [
    { path: '/openapi/v2', serve: (scope) => serveV2(get(), scope, clock) },
    { path: '/openapi/v3', prefix: true, serve: (scope) => serveV3(get(), scope) },
  ];
}
