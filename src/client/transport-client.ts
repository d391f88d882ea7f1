/**
 * The typed client over any transport: turns verbs into requests and answers into objects or `StatusError`s. The
 * transports differ only in how a request travels. Upstream: client-go rest.RESTClient with the dynamic client.
 *
 * A 429 or 5xx answer with a `retry-after` header is retried, ten times at most, as upstream's client does.
 */
import type { KubernetesObject, ObjectList, Stored } from '../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../api/resource-info.ts';
import type { Clock } from '../platform/clock.ts';
import type { Duplex } from '../platform/streams.ts';
import { decodeErrorBody, errorOfAnswer, retryAfterMs } from './answer-error.ts';
import type {
  Client,
  DeleteOptions,
  ListOptions,
  ObjectKey,
  Patch,
  ResourceClient,
  SubresourceOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from './client.ts';
import { collectionPath, deleteBody, listQuery, objectPath, watchQuery, writeQuery } from './request-path.ts';

/** One request as a transport carries it. */
export interface TransportRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A plain object (sent as JSON by network transports) or raw bytes. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** A decoded answer. Errors come as a status of 400 and above. */
export interface TransportAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly object: unknown;
}

/** A request and its answer. Rejections are connection errors or the signal's reason, never API errors. */
export interface ClientTransport {
  /** See `ResourceClient.watchList`. */
  readonly watchList?: boolean;
  call(request: TransportRequest): Promise<TransportAnswer>;
  /** Rejects (in the first iteration) with a StatusError when the server refuses the watch. */
  watch(request: TransportRequest): AsyncIterable<readonly WatchEvent<unknown>[]>;
  raw(
    request: TransportRequest,
  ): Promise<{ status: number; headers: Readonly<Record<string, string>>; body: Uint8Array }>;
  /** Rejects with a StatusError when the server does not switch protocols. */
  upgrade(request: TransportRequest): Promise<Duplex>;
}

const MAX_RETRIES = 10;
const PATCH_MEDIA_TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

/** Makes a client over a transport. */
export function createTransportClient(transport: ClientTransport, clock: Clock): Client {
  async function call<T>(request: TransportRequest): Promise<T> {
    for (let attempt = 0; ; attempt++) {
      request.signal?.throwIfAborted();
      const answer = await transport.call(request);
      if (answer.status < 400) return answer.object as T;
      const delayMs = retryAfterMs(answer);
      if (delayMs === undefined || attempt >= MAX_RETRIES) throw errorOfAnswer(answer.status, answer.object);
      await clock.sleep(delayMs, request.signal);
    }
  }

  const deps: ResourceClientDeps = { call, transport };
  return {
    resource: (info) => new TransportResourceClient(info, deps),
    async raw(request) {
      const [path = '', query = ''] = splitOnce(request.path, '?');
      const answer = await transport.raw({ ...request, method: request.method ?? 'GET', path, query });
      if (answer.status >= 400) throw errorOfAnswer(answer.status, decodeErrorBody(answer.body));
      return answer;
    },
    upgrade(request) {
      const [path = '', query = ''] = splitOnce(request.path, '?');
      return transport.upgrade({ method: 'GET', ...request, path, query });
    },
  };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)];
}

function signalOf(options: { readonly signal?: AbortSignal } | undefined): { signal?: AbortSignal } {
  return options?.signal === undefined ? {} : { signal: options.signal };
}

function keyOf(object: KubernetesObject): ObjectKey {
  const { namespace, name } = object.metadata;
  return { name: name ?? '', namespace };
}

interface ResourceClientDeps {
  readonly transport: ClientTransport;
  call<T>(request: TransportRequest): Promise<T>;
}

/** A class: a kubelet holds a dozen, a simulation has thousands of kubelets, and each closure would be one per verb. */
class TransportResourceClient<T extends KubernetesObject> implements ResourceClient<T> {
  readonly info: ResourceInfo<T>;
  readonly #deps: ResourceClientDeps;

  constructor(info: ResourceInfo<T>, deps: ResourceClientDeps) {
    this.info = info;
    this.#deps = deps;
  }

  get watchList(): boolean {
    return this.#deps.transport.watchList === true;
  }

  get(key: ObjectKey, options?: { resourceVersion?: string; signal?: AbortSignal }): Promise<Stored<T>> {
    return this.#deps.call<Stored<T>>({
      method: 'GET',
      path: objectPath(this.info, key),
      query: listQuery(options?.resourceVersion === undefined ? {} : { resourceVersion: options.resourceVersion }),
      ...signalOf(options),
    });
  }

  async list(options: ListOptions = {}): Promise<ObjectList<Stored<T>>> {
    const list = await this.#deps.call<ObjectList<Stored<T>>>({
      method: 'GET',
      path: collectionPath(this.info, options.namespace),
      query: listQuery(options),
      ...metadataForm(options, 'PartialObjectMetadataList'),
      ...signalOf(options),
    });
    return withKinds(list, this.info);
  }

  watch(options: WatchOptions): AsyncIterable<readonly WatchEvent<Stored<T>>[]> {
    return this.#deps.transport.watch({
      method: 'GET',
      path: collectionPath(this.info, options.namespace),
      query: watchQuery(options),
      ...metadataForm(options, 'PartialObjectMetadata'),
      ...signalOf(options),
    }) as AsyncIterable<readonly WatchEvent<Stored<T>>[]>;
  }

  create(object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#write({ method: 'POST', path: collectionPath(this.info, object.metadata.namespace) }, object, options);
  }

  update(object: T, options?: WriteOptions): Promise<Stored<T>> {
    const path = objectPath(this.info, keyOf(object), options?.subresource);
    return this.#write({ method: 'PUT', path }, object, options);
  }

  updateStatus(object: T, options?: WriteOptions): Promise<Stored<T>> {
    return this.#write({ method: 'PUT', path: objectPath(this.info, keyOf(object), 'status') }, object, options);
  }

  patch(key: ObjectKey, patch: Patch, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#deps.call<Stored<T>>(patchRequest(this.info, { key, patch, options }));
  }

  delete(key: ObjectKey, options: DeleteOptions = {}): Promise<unknown> {
    return this.#deps.call({
      method: 'DELETE',
      path: objectPath(this.info, key),
      query: '',
      body: deleteBody(options),
      ...signalOf(options),
    });
  }

  deleteCollection(options: ListOptions & DeleteOptions): Promise<unknown> {
    return this.#deps.call({
      method: 'DELETE',
      path: collectionPath(this.info, options.namespace),
      query: listQuery(options as ListOptions),
      body: deleteBody(options),
      ...signalOf(options),
    });
  }

  getSubresource<S>(key: ObjectKey, subresource: string, options: SubresourceOptions = {}): Promise<S> {
    const path = objectPath(this.info, key, subresource);
    const query = new URLSearchParams(options.query).toString();
    return this.#deps.call<S>({ method: 'GET', path, query, ...signalOf(options) });
  }

  createSubresource<S>(key: ObjectKey, subresource: string, body: object, options: WriteOptions = {}): Promise<S> {
    return this.#deps.call<S>({
      method: 'POST',
      path: objectPath(this.info, key, subresource),
      query: writeQuery(options),
      body,
      ...signalOf(options),
    });
  }

  #write(target: { method: string; path: string }, body: unknown, options: WriteOptions = {}): Promise<Stored<T>> {
    return this.#deps.call<Stored<T>>({ ...target, query: writeQuery(options), body, ...signalOf(options) });
  }
}

/** The list with kind and version in its items, which a server leaves out for built-in kinds. */
function withKinds<T extends KubernetesObject>(list: ObjectList<T>, info: ResourceInfo): ObjectList<T> {
  if (list.items[0] === undefined || list.items[0].kind !== undefined) return list;
  const { kind } = info;
  const apiVersion = apiVersionOf(info);
  return { ...list, items: list.items.map((item) => ({ kind, apiVersion, ...item })) };
}

function metadataForm({ metadataOnly }: ListOptions, form: string): Pick<TransportRequest, 'headers'> {
  return metadataOnly === true ? { headers: { accept: `application/json;as=${form};g=meta.k8s.io;v=v1` } } : {};
}

function patchRequest(
  info: ResourceInfo,
  patchCall: { readonly key: ObjectKey; readonly patch: Patch; readonly options: WriteOptions },
): TransportRequest {
  const { patch, options } = patchCall;
  const body = patch.type === 'json' ? patch.operations : patch.type === 'apply' ? patch.object : patch.patch;
  const extra = patch.type === 'apply' ? { fieldManager: patch.fieldManager, force: patch.force } : {};
  return {
    method: 'PATCH',
    path: objectPath(info, patchCall.key, options.subresource),
    query: writeQuery(options, extra),
    headers: { 'content-type': PATCH_MEDIA_TYPES[patch.type] },
    body,
    ...signalOf(options),
  };
}
