/** Sends requests in every spelling to a server that records the questions to its authorizer: for tests of this folder only. */
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import { prefixEnd } from '../storage/store.ts';
import type { KubernetesObject } from '../api/object.ts';
import { apiVersionOf, type ResourceInfo } from '../api/resource-info.ts';
import type { ApiResponse } from '../api/transport.ts';
import type { ApiServerDeps } from './api-server-contract.ts';
import type { AuthorizationAttributes, Authorizer } from './authz/contract.ts';
import type { GenericStore } from './generic-registry/generic-store.ts';
import { ServiceAllocator } from './registry/core/services/service-allocator.ts';
import { createResourceDefinitions } from './registry/list.ts';
import { writeObject } from './endpoints/write-object.ts';
import type { ResourceDefinition, Strategy } from './registry/resource-definition.ts';
import type { KubeletConnector } from './registry/services.ts';
import { createServerStorage } from './server-storage.ts';
import { startTestServer, testPlatform, type TestServer } from './server-fixture.ts';

/** An effect of a handler that the store does not show. `subresource` '*': not known here. */
export interface Touched {
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
  readonly effect: 'read' | 'create' | 'change' | 'delete' | 'connect';
}

/** The authorized attributes and the effects of one request. */
export class Notes {
  readonly asked: AuthorizationAttributes[] = [];
  readonly touched: Touched[] = [];
  /** Sub-resources whose strategies ran. */
  readonly strategies: string[] = [];

  /** A verb that is refused to everybody. */
  refusedVerb = '';

  readonly authorizer: Authorizer = {
    authorize: (attributes) => {
      this.asked.push(attributes);
      if (attributes.verb === this.refusedVerb) return { decision: 'deny', reason: '' };
      return { decision: 'allow', reason: '' };
    },
  };

  clear(): void {
    for (const list of [this.asked, this.touched, this.strategies]) list.length = 0;
  }
}

/** A server that records its requests. */
export interface NotedServer extends TestServer {
  readonly notes: Notes;
}

const done = (): ApiResponse => ({ kind: 'bytes', status: 200, headers: {}, chunks: [] });

function notedConnector(notes: Notes): KubeletConnector {
  const note = async ({ metadata }: KubernetesObject, subresource: string): Promise<ApiResponse> => {
    const { namespace = '', name = '' } = metadata;
    notes.touched.push({ namespace, name, subresource, effect: 'connect' });
    return done();
  };
  return {
    connectPod: (pod, subresource) => note(pod, subresource),
    proxyPod: (pod) => note(pod, 'proxy'),
    proxyService: (service) => note(service, 'proxy'),
    proxyNode: (node) => note(node, 'proxy'),
  };
}

function mapValues<T, U>(table: Readonly<Record<string, T>> | undefined, make: (key: string, value: T) => U) {
  return table && Object.fromEntries(Object.entries(table).map(([key, value]) => [key, make(key, value)]));
}

/** The definition with rules that accept everything, so that every verb reaches its object. */
function lenient(definition: ResourceDefinition, notes: Notes): ResourceDefinition {
  const { info, virtual } = definition;
  const strategy = (subresource: string): Strategy<KubernetesObject> => ({
    validate: () => [],
    validateUpdate: () => [],
    validateName: () => [],
    prepareForUpdate: () => void notes.strategies.push(subresource),
    allowUnconditionalUpdate: true,
    allowCreateOnUpdate: true,
  });
  const stub: KubernetesObject = { apiVersion: apiVersionOf(info), kind: info.kind, metadata: {} };
  const { createSubresources, objectSubresources, ...rest } = definition;
  return {
    ...rest,
    strategy: strategy(''),
    ...(objectSubresources && {
      objectSubresources: mapValues(objectSubresources, (key) => ({ strategy: strategy(key) }))!,
    }),
    ...(createSubresources && {
      createSubresources: mapValues(createSubresources, (subresource) => ({
        create: async ({ namespace, name, body }: { namespace: string; name: string; body: KubernetesObject }) => {
          notes.touched.push({ namespace, name, subresource, effect: 'create' });
          return body;
        },
      }))!,
    }),
    ...(virtual && {
      virtual: {
        ...(virtual.create && {
          create: async (draft: KubernetesObject, _: unknown, namespace: string) => {
            notes.touched.push({ namespace, name: 'new', subresource: '', effect: 'create' });
            return draft;
          },
        }),
        ...(virtual.get && {
          get: async (name: string) => ({ ...stub, metadata: { name } }),
        }),
        ...(virtual.list && { list: async () => [{ ...stub, metadata: { name: 'x' } }] }),
      },
    }),
  };
}

/** A server with every built-in resource. */
export async function startNotedServer(parts: Pick<ApiServerDeps, 'aggregation'> = {}): Promise<NotedServer> {
  const notes = new Notes();
  const platform = testPlatform();
  const storage = createServerStorage({ store: createMemoryStore({ clock: platform.clock }), platform });
  const { objects } = storage;
  const definitions = createResourceDefinitions({
    objects,
    platform,
    serviceAllocator: new ServiceAllocator(
      { objects, random: platform.random },
      { serviceClusterIpRanges: ['10.43.0.0/16'] },
    ),
    authorizer: notes.authorizer,
    kubeletConnector: notedConnector(notes),
    rulesFor: async () => ({ incomplete: false, resourceRules: [], nonResourceRules: [] }),
    authenticateToken: async () => undefined,
    issueServiceAccountToken: async () => ({ token: '', expiresAtMs: 0, expirationSeconds: 0, audiences: [] }),
    componentHealth: async () => [],
  });
  const server = await startTestServer(
    {
      ...parts,
      platform,
      storage,
      authorizers: [notes.authorizer],
      definitions: definitions.map((one) => lenient(one, notes)),
      // The object itself, read as every view must read it.
      views: [
        { name: 'seen', serve: (scope, of) => writeObject(of, scope, { status: 200, cell: of.cell(scope.info) }) },
      ],
    },
    { runtimeConfig: 'api/all=true' },
  );
  return { ...server, platform, notes };
}

/** Namespaces and names of the objects of every resource. */
const seededNamespaces = ['a', 'b'];
const seededNames = ['x', 'y'];

/** The objects of the store before each request. */
export class Seeds {
  readonly #server: NotedServer;
  readonly #values = new Map<string, Uint8Array>();

  constructor(server: NotedServer) {
    this.#server = server;
  }

  /** Puts two objects of the resource in each place there is. */
  async add(store: GenericStore): Promise<void> {
    if (store.definition.storagePrefix === '' || store.definition !== store.stored) return;
    const { info } = store;
    const names = info.resource === 'namespaces' ? [...seededNames, ...seededNamespaces] : seededNames;
    for (const namespace of info.namespaced ? seededNamespaces : [''])
      for (const name of names) await this.#put(store.keyOf({ namespace, name }), objectOf(info, namespace, name));
  }

  async #put(key: string, object: object): Promise<void> {
    const value = Buffer.from(JSON.stringify(object));
    this.#values.set(key, value);
    await this.#restore(key, value, 0);
  }

  async #restore(key: string, value: Uint8Array, expectRevision: number): Promise<void> {
    const result = await this.#server.storage.store.put({ key, value, expectRevision });
    if (!result.ok) throw new Error(`cannot put ${key}`);
  }

  /** Reverts the changes since `put`, and returns them. */
  async undo(): Promise<{ readonly key: string; readonly effect: Touched['effect'] }[]> {
    const { store } = this.#server.storage;
    const found = await store.range({ start: '/registry/', end: prefixEnd('/registry/') });
    const changes: { key: string; effect: Touched['effect'] }[] = [];
    const seen = new Set<string>();
    for (const { key, value, modRevision } of found.entries) {
      seen.add(key);
      const seed = this.#values.get(key);
      if (seed === undefined) {
        if (this.#ignored.has(key)) continue;
        changes.push({ key, effect: 'create' });
        await store.delete({ key, expectRevision: modRevision });
      } else if (Buffer.compare(seed, value) !== 0) {
        changes.push({ key, effect: 'change' });
        await this.#restore(key, seed, modRevision);
      }
    }
    for (const [key, seed] of this.#values) {
      if (seen.has(key)) continue;
      changes.push({ key, effect: 'delete' });
      await this.#restore(key, seed, 0);
    }
    return changes;
  }

  readonly #ignored = new Set<string>();

  /** Excludes current objects that are no seeds. */
  async ignoreOthers(): Promise<void> {
    const found = await this.#server.storage.store.range({ start: '/registry/', end: prefixEnd('/registry/') });
    for (const { key } of found.entries) if (!this.#values.has(key)) this.#ignored.add(key);
  }
}

function objectOf(info: ResourceInfo, namespace: string, name: string): object {
  return {
    kind: info.kind,
    apiVersion: apiVersionOf(info),
    metadata: { name, ...(namespace === '' ? {} : { namespace }), uid: `${info.resource}-${namespace}-${name}` },
    // Enough for all conversions between versions.
    spec: { scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' }, maxReplicas: 1, replicas: 1 },
  };
}

/** Reads a response or the beginning of a watch; resolves to its objects. */
export async function objectsOf(
  { platform }: TestServer,
  response: ApiResponse,
  stop: () => void,
): Promise<readonly KubernetesObject[]> {
  if (response.kind === 'stream') {
    let text = '';
    const running = response.run({
      write: async (chunk) => void (text += Buffer.from(chunk).toString('utf8')),
      end: async () => undefined,
    });
    await platform.clock.settle();
    stop();
    await running;
    const lines = text.split('\n').filter((line) => line !== '');
    return lines.map((line) => (JSON.parse(line) as { object: KubernetesObject }).object);
  }
  if (response.kind !== 'bytes') throw new Error(`unexpected ${response.kind} response`);
  const text = Buffer.concat(response.chunks).toString('utf8');
  if (text === '') return [];
  const body = JSON.parse(text) as KubernetesObject & { items?: KubernetesObject[] };
  if (Array.isArray(body.items)) return body.items;
  return body.kind === 'Status' || (body.kind ?? '').endsWith('List') ? [] : [body];
}
