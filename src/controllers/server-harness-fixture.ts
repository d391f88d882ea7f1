/**
 * Controllers against the real API server in one process: all definitions, admission and RBAC, over the memory store and a
 * virtual clock, with a stand-in for scheduler and node agents. For tests.
 */
import type { Node, Pod } from '../api/gen/core-v1.ts';
import { Events, Namespaces, Nodes, Pods, ServiceAccounts } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { isReason } from '../api/status-error.ts';
import { formatTime } from '../api/time.ts';
import type { ApiHandler } from '../api/transport.ts';
import { createAdmissionPlugins } from '../apiserver/admission/list.ts';
import { createApiServer } from '../apiserver/api-server.ts';
import { accountPrincipal } from '../apiserver/authn/bound-token-claims.ts';
import { createRbacAuthorizer, privilegedGroupAuthorizer } from '../apiserver/authz/rbac-authorizer.ts';
import { bootstrapCluster } from '../apiserver/bootstrap/bootstrap.ts';
import { decide } from '../apiserver/filters/authorization.ts';
import { ServiceAllocator } from '../apiserver/registry/core/services/service-allocator.ts';
import { createResourceDefinitions } from '../apiserver/registry/list.ts';
import type { ObjectStore } from '../apiserver/registry/object-store.ts';
import type { KubeletConnector } from '../apiserver/registry/services.ts';
import { versionInfo } from '../apiserver/routes/server-info.ts';
import { createServerStorage } from '../apiserver/server-storage.ts';
import { linkedController } from '../base/abort.ts';
import type { Client } from '../client/client.ts';
import { createEventBroadcaster } from '../client/event-broadcaster.ts';
import { createInProcessClient } from '../client/in-process-transport.ts';
import { createInformerFactory } from '../client/informer-factory.ts';
import { parseKey } from '../client/object-store.ts';
import { daemonPodNode } from '../component-helpers/daemon-pods.ts';
import { isPodActive } from '../component-helpers/pods.ts';
import type { Metrics } from '../platform/metrics.ts';
import { createSimCrypto } from '../platform/sim/crypto.ts';
import { createMemoryLog, type MemoryLog } from '../platform/sim/log.ts';
import { createMemoryMetrics } from '../platform/sim/metrics.ts';
import { createSimNet, createSimNetwork } from '../platform/sim/net.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { createMemoryStore } from '../storage/memory/memory-store.ts';
import { prefixEnd, type Store, type StoredEntry } from '../storage/store.ts';
import type { Controller, ControllerDeps, ControllersConfig } from './controller.ts';

/** A running server with controllers. Keys are `namespace/name`. */
export interface ServerHarness {
  readonly clock: VirtualClock;
  readonly log: MemoryLog;
  readonly admin: Client;
  /** The store of the server. */
  readonly store: Store;
  readonly metrics: Metrics;
  /** Creates an object; the namespace is `default` unless the object has one. Needs no kind. */
  create<T extends KubernetesObject>(info: ResourceInfo<T>, object: object): Promise<T>;
  get<T extends KubernetesObject>(info: ResourceInfo<T>, key: string): Promise<T>;
  list<T extends KubernetesObject>(info: ResourceInfo<T>): Promise<T[]>;
  /** Reads, changes a copy in place, writes. `status` writes through that sub-resource. */
  update<T extends KubernetesObject>(
    info: ResourceInfo<T>,
    key: string,
    change: (draft: T) => void,
    subresource?: 'status',
  ): Promise<T>;
  remove(info: ResourceInfo, key: string, propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'): Promise<void>;
  /** A node with this spec; ready, so without the taint that new nodes get. */
  addNode(name: string, parts?: { labels?: Record<string, string>; spec?: NonNullable<Node['spec']> }): Promise<void>;
  /** Lets a pod end. */
  finish(pod: Pod, phase: 'Succeeded' | 'Failed', exitCode?: number): Promise<void>;
  /** Active pods, by name. */
  pods(): Promise<Pod[]>;
  events(): Promise<string[]>;
  /** Advances in steps; after each, active pods (those `which` selects) run and are ready, terminating ones go. */
  run(ms: number, options?: { which?: (pod: Pod) => boolean; stepMs?: number }): Promise<void>;
  /** The number of successful writes so far, without events. */
  writes(): number;
  /** Starts all controllers a second time beside the first ones, with empty caches: every object is synced again. */
  startAgain(): Promise<void>;
  /**
   * Starts more controllers with their own clients and caches, whose calls pass `through` a wrapper. The returned function ends
   * them as abruptly as a kill of their process.
   */
  startThrough(more: MoreControllers): (reason: Error) => void;
  /** Method and path of each write so far. */
  writeLog(): readonly string[];
  stop(): Promise<void>;
}

/** Controllers that are started beside those of the harness. */
export interface MoreControllers {
  readonly factories: readonly ((deps: ControllerDeps) => Controller)[];
  readonly config?: ControllersConfig;
  readonly through: (handler: ApiHandler) => ApiHandler;
  /** The user of `client`. Default the controller manager. */
  readonly user?: string;
}

const ADMIN = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };
const MANAGER = 'kube-controller-manager';

type Principal = typeof ADMIN;

interface HarnessServer {
  readonly clock: VirtualClock;
  readonly log: MemoryLog;
  readonly platform: ControllerDeps['platform'];
  readonly admin: Client;
  readonly handler: ApiHandler;
  readonly objects: ObjectStore;
  readonly store: Store;
  readonly writes: () => readonly string[];
  stop(): Promise<void>;
}

/** Starts the server, bootstraps it and starts the controllers. Without a connector nodes' proxies are not served. */
export async function startServerHarness(
  factories: readonly ((deps: ControllerDeps) => Controller)[],
  config: ControllersConfig = {},
  kubeletConnector?: KubeletConnector,
): Promise<ServerHarness> {
  const stop = new AbortController();
  bootstrapped ??= bootstrap();
  const server = await startServer(stop.signal, { kubeletConnector, entries: await bootstrapped, seed: 2 });
  const started = [startControllers(server, { factories, config }, stop.signal)];
  const starts: Starts = {
    async startAgain() {
      started.push(startControllers(server, { factories, config }, stop.signal));
      await server.clock.settle();
    },
    startThrough(more) {
      const life = linkedController(stop.signal);
      started.push(startControllers(server, { config, ...more }, life.signal));
      return (reason) => life.abort(reason);
    },
    async stop() {
      stop.abort(new Error('test over'));
      await Promise.all(started);
      await server.stop();
    },
  };
  const harness = createHarness(server, starts);
  await server.clock.settle();
  return harness;
}

type Starts = Pick<ServerHarness, 'startAgain' | 'startThrough' | 'stop'>;

/** The entries of a bootstrapped server's store, in the order of revisions: computed once, every server begins with them. */
let bootstrapped: Promise<readonly StoredEntry[]> | undefined;

async function bootstrap(): Promise<readonly StoredEntry[]> {
  const stop = new AbortController();
  const { admin, clock, objects, store, stop: ended } = await startServer(stop.signal, { entries: [], seed: 1 });
  await bootstrapCluster(objects, {
    kubernetesServiceIp: '10.43.0.1',
    advertised: async () => [{ ip: '127.0.0.1', port: 6443 }],
    nowMs: () => clock.nowMs(),
  });
  await objects.ensure(Namespaces, { metadata: { name: 'default' } });
  await admin.resource(ServiceAccounts).create({ metadata: { namespace: 'default', name: 'default' } });
  const { entries } = await store.range({ start: '', end: prefixEnd('') });
  stop.abort(new Error('bootstrapped'));
  await ended();
  return entries.toSorted((a, b) => a.modRevision - b.modRevision);
}

interface ServerSetup {
  /** The initial entries of the store. */
  readonly entries: readonly StoredEntry[];
  /** The seed of its randomness: uids must differ from those of `entries`. */
  readonly seed: number;
  readonly kubeletConnector?: KubeletConnector | undefined;
}

async function startServer(
  signal: AbortSignal,
  { entries, seed, kubeletConnector }: ServerSetup,
): Promise<HarnessServer> {
  const clock = new VirtualClock();
  const log = createMemoryLog();
  const random = createSeededRandom(seed);
  const platform = { clock, random, crypto: createSimCrypto(clock), log, metrics: createMemoryMetrics() };
  const store = createMemoryStore({ clock });
  for (const { key, value } of entries) await store.put({ key, value });
  const storage = createServerStorage({ store, platform });
  const { objects } = storage;
  const rbac = createRbacAuthorizer(objects);
  const authorizers = [privilegedGroupAuthorizer, rbac];
  const serviceAllocator = new ServiceAllocator({ objects, random }, { serviceClusterIpRanges: ['10.43.0.0/16'] });
  const authorizer = { authorize: (attributes: Parameters<typeof decide>[1]) => decide(authorizers, attributes) };
  const definitions = createResourceDefinitions({
    objects,
    platform,
    serviceAllocator,
    authorizer,
    ...(kubeletConnector && { kubeletConnector }),
  });
  const admission = createAdmissionPlugins({
    objects: () => objects,
    registry: storage.registry,
    net: createSimNet(createSimNetwork(clock), ['127.0.0.1']),
    log,
    metrics: platform.metrics,
    crypto: platform.crypto,
    random,
    authorizer,
    rulesFor: rbac.rulesFor,
    clock,
  });
  const server = createApiServer(
    { storage, platform, definitions, authenticators: [], authorizers, admission },
    {
      version: versionInfo(),
      serverAddress: '127.0.0.1:6443',
      runtimeConfig: 'internal.apiserver.k8s.io/v1alpha1,resource.k8s.io/v1beta2/devicetaintrules',
    },
  );
  const { handler, writes } = countWrites(server.handler);
  await server.start(signal);
  serviceAllocator.start();
  const admin = createInProcessClient({ handler, clock, principal: ADMIN, userAgent: 'kubectl' });
  const stop = async (): Promise<void> => {
    rbac.stop();
    await server.stop();
  };
  return { clock, log, platform, admin, handler, objects, store, writes, stop };
}

function countWrites(inner: ApiHandler): { handler: ApiHandler; writes: () => readonly string[] } {
  const writes: string[] = [];
  const handler: ApiHandler = (request) => {
    if (request.method !== 'GET' && !request.path.includes('/events')) writes.push(`${request.method} ${request.path}`);
    return inner(request);
  };
  return { handler, writes: () => writes };
}

/** Resolves when all controllers have ended. */
function startControllers(
  { platform, handler: server }: HarnessServer,
  { factories, config = {}, through, user = MANAGER }: Omit<MoreControllers, 'through'> & Partial<MoreControllers>,
  signal: AbortSignal,
): Promise<unknown> {
  const { clock, random, log } = platform;
  const handler = through === undefined ? server : through(server);
  const clientFor = (principal: Principal, userAgent: string): Client =>
    createInProcessClient({ handler, clock, principal, userAgent });
  const client = clientFor({ name: `system:${user}`, groups: ['system:authenticated'] }, user);
  const broadcaster = createEventBroadcaster({ client, clock, random, log });
  const informers = createInformerFactory({ client, clock, random, log });
  const deps: ControllerDeps = {
    client,
    // Each with its own name in managed fields, so that tests see the writer of a field.
    clientFor: (account) => clientFor(accountPrincipal('kube-system', account) as Principal, account),
    informers,
    platform,
    recorderFor: (component) => broadcaster.recorderFor(component),
    config,
  };
  broadcaster.start(signal);
  const made = factories.map((factory) => factory(deps));
  informers.start(signal);
  return Promise.all(made.map((controller) => controller.start(signal)));
}

function createHarness({ clock, log, admin, store, platform, writes }: HarnessServer, starts: Starts): ServerHarness {
  const drive = <T>(work: Promise<T>): Promise<T> => clock.drive(work);
  const now = (): string => formatTime(clock.nowMs());
  const harness: ServerHarness = {
    clock,
    log,
    admin,
    store,
    metrics: platform.metrics,
    create: (info, object) => drive(admin.resource(info).create(withNamespace(info, object))),
    get: (info, key) => drive(admin.resource(info).get(parseKey(key))),
    list: async (info) => (await drive(admin.resource(info).list())).items as never,
    async update(info, key, change, subresource) {
      const draft = structuredClone(await harness.get(info, key));
      change(draft);
      return await drive(admin.resource(info).update(draft, subresource === undefined ? {} : { subresource }));
    },
    async remove(info, key, propagationPolicy = 'Background') {
      await drive(admin.resource(info as ResourceInfo<KubernetesObject>).delete(parseKey(key), { propagationPolicy }));
    },
    async addNode(name, { labels = {}, spec = {} } = {}) {
      await harness.create(Nodes, {
        metadata: {
          name,
          labels: { 'kubernetes.io/hostname': name, ...labels },
          annotations: { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' },
        },
        spec,
      });
      await harness.update(Nodes, name, (draft) => {
        const { taints: _, ...rest } = draft.spec ?? {};
        draft.spec = { ...rest, ...(spec.taints === undefined ? {} : { taints: spec.taints }) };
      });
    },
    async finish(pod, phase, exitCode = phase === 'Failed' ? 1 : 0) {
      await drive(updatePodStatus(admin, pod, finished(pod, phase, { exitCode, time: now() })));
    },
    pods: async () => (await harness.list(Pods)).filter(isPodActive).sort(byName),
    events: async () => (await harness.list(Events)).map((event) => `${event.type} ${event.reason} ${event.message}`),
    async run(ms, { which = () => true, stepMs = 100 } = {}) {
      let seen = -1;
      for (let passed = 0; passed < ms; passed += stepMs) {
        await clock.advance(stepMs);
        const { revision } = await store.status();
        if (revision === seen) continue;
        seen = revision;
        for (const pod of await harness.list(Pods)) {
          if (pod.metadata.deletionTimestamp !== undefined) await drive(removePod(admin, pod));
          else if (isPodActive(pod) && pod.status?.phase !== 'Running' && which(pod))
            await drive(startPod(admin, pod, now()));
        }
      }
      await clock.settle();
    },
    writes: () => writes().length,
    writeLog: () => [...writes()],
    ...starts,
  };
  return harness;
}

function byName(a: KubernetesObject, b: KubernetesObject): number {
  return (a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1;
}

function withNamespace<T extends KubernetesObject>(info: ResourceInfo<T>, object: object): T {
  const given = object as T;
  return info.namespaced ? ({ ...given, metadata: { namespace: 'default', ...given.metadata } } as T) : given;
}

/** Deletes the pod as the kubelet does at the end of the grace period. Finalizers still hold it. */
async function removePod(admin: Client, pod: Pod): Promise<void> {
  const { namespace = '', name = '', uid } = pod.metadata;
  await ignoreGone(
    admin
      .resource(Pods)
      .delete({ namespace, name }, { gracePeriodSeconds: 0, ...(uid === undefined ? {} : { preconditions: { uid } }) }),
  );
}

async function startPod(admin: Client, pod: Pod, time: string): Promise<void> {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: time }];
  const { namespace = '', name = '' } = pod.metadata;
  if ((pod.spec?.nodeName ?? '') === '') {
    const target = { kind: 'Node', name: daemonPodNode(pod) ?? 'node' };
    await ignoreGone(
      admin.resource(Pods).createSubresource({ namespace, name }, 'binding', {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name },
        target,
      }),
    );
  }
  await ignoreGone(
    updatePodStatus(admin, pod, { ...pod.status, phase: 'Running', conditions, podIP: '10.42.0.9', startTime: time }),
  );
}

function finished(
  pod: Pod,
  phase: string,
  { exitCode, time }: { exitCode: number; time: string },
): NonNullable<Pod['status']> {
  const terminated = { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt: time, finishedAt: time };
  const containerStatuses = (pod.spec?.containers ?? []).map(({ name, image = '' }) => ({
    name,
    image,
    imageID: image,
    ready: false,
    restartCount: 0,
    state: { terminated },
  }));
  return {
    ...pod.status,
    phase,
    containerStatuses,
    conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: time }],
  };
}

async function updatePodStatus(admin: Client, pod: Pod, status: NonNullable<Pod['status']>): Promise<void> {
  const { namespace = '', name = '' } = pod.metadata;
  const current = await admin.resource(Pods).get({ namespace, name });
  await admin.resource(Pods).updateStatus({ ...current, status });
}

async function ignoreGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isReason(error, 'NotFound', 'Conflict')) throw error;
  }
}
