/**
 * A small API handler for tests of clients and controllers: create, read, list, watch, update, patch (merge by field) and
 * delete with finalizers, over one revision counter. It knows no defaults, validation or authorization; whatever needs
 * those is tested against the real server.
 */
import { addInt64 } from '../api/int64.ts';
import { onAbort } from '../base/abort.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  expired,
  notFound,
  StatusError,
  statusFailure,
} from '../api/status-error.ts';
import { allResources } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import {
  type ApiHandler,
  type ApiRequest,
  type ApiResponse,
  INITIAL_EVENTS_END,
  type ObjectEvent,
} from '../api/transport.ts';
import { Channel } from '../base/channel.ts';
import { deepEqual } from '../base/equal.ts';

/** A handler whose state tests read. */
export interface FakeApi {
  readonly handler: ApiHandler;
  /** Method and path of every request, oldest first (watches too). */
  readonly requests: {
    readonly method: string;
    readonly path: string;
    readonly query: string;
    readonly body: unknown;
  }[];
  /** Stores an object as it is, with uid, revision and time filled in where absent. */
  seed<T extends KubernetesObject>(info: ResourceInfo<T>, object: T): T;
  /** Removes an object, whatever its finalizers. */
  remove(info: ResourceInfo, key: string): void;
  objects<T extends KubernetesObject>(info: ResourceInfo<T>): T[];
  /** Changes an object in place of a component that the test does not run. */
  modify<T extends KubernetesObject>(info: ResourceInfo<T>, key: string, change: (object: T) => T): T;
  /** Called before each request; an error it throws is the response. */
  intercept: ((request: { method: string; path: string; body: unknown }) => void) | undefined;
  /** Whether watches cannot begin with the objects there are, as on servers of before v1.27. */
  refusesInitialEvents: boolean;
  /** Ends all open watches; `forget` also makes older revisions expired. */
  breakWatches(options?: { forget?: boolean }): void;
}

interface LogEntry {
  readonly revision: number;
  readonly event: ObjectEvent;
  readonly info: ResourceInfo;
}

interface Target {
  readonly info: ResourceInfo;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Creates an empty server; `now` gives creation and deletion times, `custom` adds resources to the built-in ones. */
export function createFakeApi(now: () => string, firstUid = 1, custom: readonly ResourceInfo[] = []): FakeApi {
  const served = [...allResources, ...custom];
  const objects = new Map<string, KubernetesObject>();
  const log: LogEntry[] = [];
  const watchers = new Set<{ readonly target: Target; readonly channel: Channel<readonly ObjectEvent[]> }>();
  let revision = 100;
  let oldest = 0;
  let nextUid = firstUid;
  const idOf = (info: ResourceInfo, key: string): string => `${info.group}/${info.resource}|${key}`;
  const keyOf = (o: KubernetesObject): string =>
    (o.metadata.namespace === undefined ? '' : `${o.metadata.namespace}/`) + (o.metadata.name ?? '');
  const inScope = (t: Target, o: KubernetesObject): boolean =>
    t.namespace === undefined || o.metadata.namespace === t.namespace;
  const same = (a: ResourceInfo, b: ResourceInfo): boolean => a.resource === b.resource && a.group === b.group;

  function emit(info: ResourceInfo, type: ObjectEvent['type'], object: KubernetesObject): void {
    const event = { type, object };
    log.push({ revision, event, info });
    for (const w of watchers) if (same(w.target.info, info) && inScope(w.target, object)) w.channel.trySend([event]);
  }
  function store<T extends KubernetesObject>(info: ResourceInfo, object: T): T {
    const key = idOf(info, keyOf(object));
    const old = objects.get(key);
    revision++;
    const meta = { ...object.metadata, resourceVersion: String(revision) };
    meta.uid ??= `uid-${nextUid++}`;
    meta.creationTimestamp ??= now();
    const stored = {
      apiVersion: info.group === '' ? info.version : `${info.group}/${info.version}`,
      kind: info.kind,
      ...object,
      metadata: meta,
    };
    objects.set(key, stored);
    emit(info, old === undefined ? 'ADDED' : 'MODIFIED', stored);
    return stored;
  }
  function drop(info: ResourceInfo, object: KubernetesObject): void {
    objects.delete(idOf(info, keyOf(object)));
    revision++;
    emit(info, 'DELETED', { ...object, metadata: { ...object.metadata, resourceVersion: String(revision) } });
  }
  function must(t: Target): KubernetesObject {
    const object = objects.get(idOf(t.info, t.namespace === undefined ? (t.name ?? '') : `${t.namespace}/${t.name}`));
    if (object === undefined) throw notFound(t.info, t.name ?? '');
    return object;
  }
  function replace(t: Target, next: KubernetesObject): KubernetesObject {
    const old = must(t);
    const { resourceVersion, uid } = next.metadata;
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion)
      throw conflict(t.info, t.name ?? '');
    if (uid !== undefined && uid !== old.metadata.uid) throw conflict(t.info, t.name ?? '', 'Precondition failed: UID');
    const hasStatus = t.info.subresources.some((s) => s.name === 'status');
    const merged =
      t.subresource === 'status'
        ? { ...old, status: withoutZeros((next as { status?: object }).status), metadata: statusMetadata(old, next) }
        : {
            ...old,
            ...next,
            ...(hasStatus && 'status' in old ? { status: (old as { status?: unknown }).status } : {}),
            metadata: {
              ...next.metadata,
              uid: old.metadata.uid as string,
              creationTimestamp: old.metadata.creationTimestamp as string,
            },
          };
    const specChanged = !deepEqual((old as { spec?: unknown }).spec, (merged as { spec?: unknown }).spec);
    if (specChanged) merged.metadata.generation = addInt64(old.metadata.generation ?? 1, 1);
    if (
      deepEqual(
        { ...merged, metadata: { ...merged.metadata, resourceVersion: '' } },
        { ...old, metadata: { ...old.metadata, resourceVersion: '' } },
      )
    )
      return old;
    const finalizers = [
      ...(merged.metadata.finalizers ?? []),
      ...((merged as { spec?: { finalizers?: string[] } }).spec?.finalizers ?? []),
    ];
    if (merged.metadata.deletionTimestamp !== undefined && finalizers.length === 0) {
      drop(t.info, merged);
      return merged;
    }
    return store(t.info, merged);
  }
  function create(t: Target, body: KubernetesObject): unknown {
    if (t.subresource !== undefined) return { kind: 'Status', status: 'Success', code: 201 };
    const meta = { ...body.metadata };
    if (t.namespace !== undefined) meta.namespace = t.namespace;
    if (meta.name === undefined && meta.generateName !== undefined)
      meta.name = `${meta.generateName}${String(revision).padStart(5, 'x')}`;
    if (meta.name === undefined) throw badRequest('name or generateName is required');
    if (objects.has(idOf(t.info, keyOf({ metadata: meta })))) throw alreadyExists(t.info, meta.name);
    delete meta.resourceVersion;
    meta.generation = 1;
    return store(t.info, { ...body, metadata: meta });
  }
  function remove(t: Target, options: { propagationPolicy?: string; preconditions?: { uid?: string } }): unknown {
    const old = must(t);
    const uid = options.preconditions?.uid;
    if (uid !== undefined && uid !== old.metadata.uid)
      throw conflict(t.info, t.name ?? '', 'the UID in the precondition does not match');
    const finalizers = [...(old.metadata.finalizers ?? [])];
    if (options.propagationPolicy === 'Foreground') finalizers.push('foregroundDeletion');
    if (options.propagationPolicy === 'Orphan') finalizers.push('orphan');
    const held =
      finalizers.length > 0 || ((old as { spec?: { finalizers?: string[] } }).spec?.finalizers?.length ?? 0) > 0;
    if (!held) {
      drop(t.info, old);
      return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
    }
    if (old.metadata.deletionTimestamp !== undefined) return old;
    return store(t.info, {
      ...old,
      metadata: { ...old.metadata, finalizers: [...new Set(finalizers)], deletionTimestamp: now() },
    });
  }
  function itemsOf(t: Target): KubernetesObject[] {
    const prefix = idOf(t.info, '');
    return [...objects].filter(([key, o]) => key.startsWith(prefix) && inScope(t, o)).map(([, o]) => o);
  }
  function initialEvents(t: Target): ObjectEvent[] {
    const metadata = { resourceVersion: String(revision), annotations: { [INITIAL_EVENTS_END]: 'true' } };
    const added = itemsOf(t).map((object): ObjectEvent => ({ type: 'ADDED', object }));
    return [...added, { type: 'BOOKMARK', object: { kind: t.info.kind, metadata } }];
  }
  function watch(t: Target, query: URLSearchParams, signal: AbortSignal): ApiResponse {
    const isInitial = query.get('sendInitialEvents') === 'true';
    if (isInitial && api.refusesInitialEvents) throw statusFailure(422, 'Invalid', 'resourceVersionMatch is forbidden');
    const from = isInitial ? revision : Number(query.get('resourceVersion') ?? revision);
    if (from < oldest) throw expired(`too old resource version: ${from} (${oldest})`);
    const channel = new Channel<readonly ObjectEvent[]>();
    const watcher = { target: t, channel };
    if (isInitial) channel.trySend(initialEvents(t));
    for (const r of log)
      if (r.revision > from && same(r.info, t.info) && inScope(t, r.event.object as KubernetesObject))
        channel.trySend([r.event]);
    watchers.add(watcher);
    const stop = (): void => {
      watchers.delete(watcher);
      channel.close();
    };
    onAbort(signal, stop);
    return { kind: 'watch', status: 200, headers: {}, events: channel };
  }
  function answer(t: Target, request: ApiRequest, body: unknown): ApiResponse {
    const query = new URLSearchParams(request.query);
    const ok = (object: unknown, status = 200): ApiResponse => ({ kind: 'object', status, headers: {}, object });
    switch (request.method) {
      case 'GET': {
        if (t.name !== undefined) return ok(must(t));
        if (query.get('watch') === 'true') return watch(t, query, request.signal);
        return ok({
          apiVersion: 'v1',
          kind: t.info.listKind,
          metadata: { resourceVersion: String(revision) },
          items: itemsOf(t),
        });
      }
      case 'POST':
        return ok(create(t, body as KubernetesObject), 201);
      case 'PUT':
        return ok(
          replace(
            t,
            t.subresource === 'finalize'
              ? ({ ...must(t), spec: (body as { spec?: unknown }).spec } as KubernetesObject)
              : (body as KubernetesObject),
          ),
        );
      case 'PATCH':
        return ok(replace(t, mergePatch(must(t), body) as KubernetesObject));
      case 'DELETE':
        if (t.name !== undefined) return ok(remove(t, (body ?? {}) as { propagationPolicy?: string }));
        for (const [key, o] of [...objects])
          if (key.startsWith(idOf(t.info, '')) && inScope(t, o)) remove({ ...t, name: o.metadata.name }, {});
        return ok({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' });
      default:
        throw badRequest(`method ${request.method}`);
    }
  }

  const api: FakeApi = {
    requests: [],
    intercept: undefined,
    refusesInitialEvents: false,
    objects: (info) => [...objects].filter(([key]) => key.startsWith(idOf(info, ''))).map(([, o]) => o as never),
    seed: (info, object) => store(info, object),
    remove(info, key) {
      const object = objects.get(idOf(info, key));
      if (object !== undefined) drop(info, object);
    },
    modify: (info, key, change) => store(info, change(objects.get(idOf(info, key)) as never)),
    breakWatches(options) {
      if (options?.forget === true) oldest = ++revision;
      for (const w of [...watchers]) w.channel.close();
      watchers.clear();
    },
    async handler(request) {
      const body =
        request.body.kind === 'object'
          ? request.body.object
          : request.body.kind === 'bytes'
            ? JSON.parse(Buffer.from(await request.body.read(1e9)).toString() || 'null')
            : undefined;
      api.requests.push({ method: request.method, path: request.path, query: request.query, body });
      try {
        api.intercept?.({ method: request.method, path: request.path, body });
        if (request.path === '/api' || request.path === '/apis')
          return { kind: 'object', status: 200, headers: {}, object: discovery(request.path) };
        return answer(parsePath(request.path, served), request, body);
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        return { kind: 'object', status: error.code, headers: {}, object: error.status };
      }
    },
  };
  return api;
}

function parsePath(path: string, served: readonly ResourceInfo[]): Target {
  const parts = path
    .split('/')
    .filter((part) => part !== '')
    .map(decodeURIComponent);
  const group = parts[0] === 'api' ? '' : (parts[1] ?? '');
  let rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  let namespace: string | undefined;
  const isResource = (name: string | undefined) =>
    served.some((i) => i.group === group && i.resource === name && i.namespaced);
  if (rest[0] === 'namespaces' && rest.length > 2 && isResource(rest[2])) {
    namespace = rest[1];
    rest = rest.slice(2);
  }
  const info = served.find((i) => i.group === group && i.resource === rest[0]);
  if (info === undefined) throw notFound({ group: '', resource: path }, '');
  return { info, namespace, name: rest[1], subresource: rest[2] };
}

/** Aggregated discovery of the stable built-in resources. */
function discovery(path: string): object {
  const served = allResources.filter((i) => (i.group === '') === (path === '/api') && !/alpha|beta/.test(i.version));
  const items = [...Map.groupBy(served, (i) => i.group)].map(([name, infos]) => ({
    metadata: { name },
    versions: [...Map.groupBy(infos, (i) => i.version)].map(([version, resources]) => ({
      version,
      freshness: 'Current',
      resources: resources.map((i) => ({
        resource: i.resource,
        responseKind: { group: i.group, version: i.version, kind: i.kind },
        scope: i.namespaced ? 'Namespaced' : 'Cluster',
        singularResource: i.singular,
        verbs: i.verbs,
      })),
    })),
  }));
  return { apiVersion: 'apidiscovery.k8s.io/v2', kind: 'APIGroupDiscoveryList', metadata: {}, items };
}

/** The real server drops zeros of most fields: a controller that expects to read them back writes for ever. */
/** Annotations may be changed along with a status. */
function statusMetadata(old: KubernetesObject, next: KubernetesObject): KubernetesObject['metadata'] {
  const { annotations } = next.metadata;
  return { ...old.metadata, ...(annotations !== undefined && { annotations }) };
}

function withoutZeros(status: object | undefined): object | undefined {
  return status === undefined
    ? undefined
    : Object.fromEntries(Object.entries(status).filter(([, value]) => value !== 0));
}

/** RFC 7386: lists are replaced, which is enough for the patches of the tests. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const base =
    typeof target === 'object' && target !== null && !Array.isArray(target)
      ? { ...(target as Record<string, unknown>) }
      : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete base[key];
    else base[key] = mergePatch(base[key], value);
  }
  return base;
}
