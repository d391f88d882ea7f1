/**
 * A Kubernetes cluster inside this process: the real API server, controllers, scheduler and kubelets, on simulated machines
 * and on real or virtual time. The entry of `keelson/testing`.
 */
import type { KubernetesObject } from '../api/object.ts';
import { ConfigMaps, CustomResourceDefinitions, Events, Pods } from '../api/gen/resources.ts';
import type { Event, Pod } from '../api/gen/core-v1.ts';
import type { Principal } from '../api/transport.ts';
import { type ResourceInfo } from '../api/resource-info.ts';
import type { Client, WriteOptions } from '../client/client.ts';
import type { ClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import type { SimImage, SimImageSpec } from '../cri/sim/sim-image.ts';
import type { Clock } from '../platform/clock.ts';
import type { EventLoop } from '../platform/event-loop.ts';
import { createMemoryFiles } from '../platform/sim/files.ts';
import { createSimPlatform, type SimPlatform } from '../platform/sim/sim-platform.ts';
import { idleMs, warn } from '../platform/node/real-time.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import type { HistoryLog } from '../storage/history-log.ts';
import type { Store, StoreStatus } from '../storage/store.ts';
import { applyManifests, type Manifests } from './apply.ts';
import { checkOptions, createPace, openStore, type ClusterOptions } from './cluster-options.ts';
import { reportCallers } from './caller.ts';
import { customKinds } from './custom-kinds.ts';
import { sortedEvents } from './describe.ts';
import { spanMs, type Duration } from './duration.ts';
import { explainAccess, explainObject, explanationOf, traceOf } from './explain.ts';
import { TestFaults } from './faults.ts';
import { LISTEN_FIELDS, makePki, openListener, type ListenAt, type Listening } from './listener.ts';
import { TestNodes } from './nodes.ts';
import { checkOptionNames, image as describeImage } from './option-shapes.ts';
import type { Pace } from './pace.ts';
import { createTestNet, type TestNet } from './real-net.ts';
import { resolveReference, type ObjectReference, type ResolvedReference } from './references.ts';
import { SimWorld, type WorldIdentity } from './sim-world.ts';
import type { SimNodeSpec } from './sim-node.ts';
import { createSleepHint } from './sleep-hint.ts';
import { readAll, readEntries, writeAll, writeEntries, type ClusterSnapshot } from './snapshot.ts';
import { loadConsole } from './load-console.ts';
import { createUserClient } from './user-client.ts';
import type { AccessWords } from '../why/access/access-request.ts';
import type { Explanation } from '../why/explanation.ts';
import type { PodTrace } from '../component-helpers/pod-trace/pod-trace.ts';
import { TestWebhooks, type WebhookFunction } from './webhooks.ts';
import { eventually, waitForObject, type Expectation, type WaitOptions } from './wait.ts';

const ADMIN: Principal = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

/** Which events are meant. */
export interface EventFilter {
  readonly about?: ObjectReference;
  readonly reason?: string;
  readonly type?: 'Normal' | 'Warning';
}

interface ClusterParts {
  readonly pace: Pace;
  readonly store: Store;
  readonly eventLoop?: EventLoop | undefined;
  /** What a fork has of the cluster it came from. */
  readonly origin?: Origin;
}

/** What a fork has of the cluster it came from beside the objects. */
interface Origin {
  readonly images: ReadonlyMap<string, SimImage>;
  readonly webhooks: TestWebhooks;
  readonly identity: WorldIdentity | undefined;
}

/** A running cluster. */
export class Cluster implements AsyncDisposable {
  /** Typed client of the administrator, in this process. Objects it returns are the caller's own. */
  readonly client: Client;
  readonly nodes: TestNodes;
  readonly faults: TestFaults;
  readonly #options: ClusterOptions;
  readonly #pace: Pace;
  readonly #seed: string;
  readonly #images = new Map<string, SimImage>();
  readonly #listening = new Set<Listening>();
  readonly #webhooks: TestWebhooks;
  readonly #podListeners: ((pod: Pod | undefined, old: Pod | undefined) => void)[] = [];
  #world: SimWorld;
  #store: Store;
  #history: HistoryLog | undefined;
  /** Webhooks and the like may listen on this machine. */
  readonly #realNet: TestNet;
  readonly #eventLoop: EventLoop | undefined;
  #pki: ClusterPki | undefined;
  /** The keys and the authority of the world before this one, of this cluster or of the one it was forked from. */
  #identity: WorldIdentity | undefined;
  #restores = 0;
  #forks = 0;
  #stopped: Promise<void> | undefined;
  readonly #sleepHint: (call: string) => void;

  static {
    // What a run has written is told after its end too.
    reportCallers(Cluster, (cluster, call) => cluster.#before(call), ['stop', 'eventLog']);
  }

  /** Starts a cluster; resolves when the API server serves and all nodes are Ready. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    checkOptions(options);
    const { seed, ...parts } = await createPace(options);
    const store = await openStore(options, parts.pace.clock);
    const cluster = new Cluster({ ...options, seed }, { ...parts, store });
    const { nodes = 1 } = options;
    try {
      await cluster.#begin();
      await cluster.nodes.addMany(typeof nodes === 'number' ? Array.from({ length: nodes }, () => ({})) : nodes);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  private constructor(options: ClusterOptions, { pace, store, eventLoop, origin }: ClusterParts) {
    this.#options = options;
    this.#pace = pace;
    this.#store = store;
    this.#history = options.history?.(pace.clock);
    this.#realNet = createTestNet(pace.clock);
    this.#eventLoop = eventLoop;
    this.#pki = options.pki;
    this.#seed = String(options.seed);
    this.#sleepHint =
      pace.kind === 'virtual' && options.sleepHint !== false
        ? createSleepHint({ clock: pace.clock, idleMs, warn })
        : (): void => undefined;
    this.#webhooks = new TestWebhooks(origin?.webhooks);
    this.#identity = origin?.identity;
    for (const [name, image] of origin?.images ?? []) this.#images.set(name, image);
    for (const given of options.images ?? []) {
      const image = describeImage(given.name, given);
      if (!this.#images.has(image.name)) this.#images.set(image.name, image);
    }
    this.#world = this.#createWorld();
    this.client = this.clientFor(ADMIN);
    const untainted = options.controllers?.includes('node-lifecycle-controller') ?? true;
    const before = (call: string): void => this.#before(call);
    this.nodes = new TestNodes({ pace, world: () => this.#world, client: () => this.client, untainted, before });
    this.faults = new TestFaults({ pace, world: () => this.#world, before });
  }

  /** Now, milliseconds since the Unix epoch. */
  get nowMs(): number {
    return this.#pace.clock.nowMs();
  }

  /** The clock everything in the cluster runs on. */
  get clock(): Clock {
    return this.#pace.clock;
  }

  /** A client that acts as this user; what it may do, RBAC says. */
  clientFor(principal: Principal, userAgent: string = 'keelson-testing'): Client {
    checkOptionNames('clientFor', principal, { name: true, uid: true, groups: true, extra: true });
    const forward: Client = {
      resource: (info) => this.#world.clientFor(principal, userAgent).resource(info),
      raw: (request) => this.#world.clientFor(principal, userAgent).raw(request),
      upgrade: (request) => this.#world.clientFor(principal, userAgent).upgrade(request),
    };
    return createUserClient(forward, {
      pace: this.#pace,
      before: (call) => this.#before(call),
      fieldValidation: this.#options.fieldValidation ?? 'Strict',
      definitions: () => this.#objects()?.list(CustomResourceDefinitions) ?? [],
    });
  }

  /** Makes a function of the test a webhook. Gives the URL for `clientConfig.url`; no caBundle is needed. */
  webhook(path: string, answer: WebhookFunction): string {
    return this.#webhooks.add(path, answer);
  }

  /** Describes an image for all nodes: from now on, containers of this name behave so. */
  image(name: string, spec: SimImageSpec = {}): SimImage {
    const image = describeImage(name, spec);
    this.#images.set(image.name, image);
    for (const node of this.#world.nodes.values()) node.runtime.store.add(image);
    return image;
  }

  /** Server-side apply of YAML or objects, in their order. Fields that the kind does not have are refused. */
  async apply(
    manifests: Manifests,
    options: Pick<WriteOptions, 'fieldValidation' | 'fieldManager'> = {},
  ): Promise<KubernetesObject[]> {
    checkOptionNames('apply', options, { fieldValidation: true, fieldManager: true });
    const deps = {
      client: this.client,
      clock: this.#pace.clock,
      kinds: () => customKinds(this.#objects()),
      established: (definition: KubernetesObject) => this.waitFor(definition, 'Established'),
    };
    return await applyManifests(deps, manifests, options);
  }

  /** Waits for an object to be as expected; see `Expectation`. Rejects with a `WaitError` that shows what it was instead. */
  async waitFor<T extends KubernetesObject>(
    reference: ObjectReference,
    expectation: Expectation<T>,
    options: WaitOptions = {},
  ): Promise<T> {
    checkOptionNames('waitFor', options, { within: true });
    const explain = (found: ResolvedReference): Promise<string> => explanationOf(this, found);
    const deps = { pace: this.#pace, client: this.client, objects: () => this.#objects(), explain };
    return (await waitForObject(deps, { reference, expectation }, options)) as T;
  }

  /** Explains an object as it is now: causes, down to the first one, and what would cure them. Rejects when it is not there. */
  async why(reference: ObjectReference): Promise<Explanation> {
    return await explainObject(this, this.resolve(reference));
  }

  /** Explains why a user may do something, or may not: the rule and its binding, or what would have to be granted. */
  async whyCan(words: AccessWords): Promise<Explanation> {
    return await explainAccess(this, words);
  }

  /** Where the time of a pod's start went, step by step. Rejects when there is no such pod. */
  async trace(reference: ObjectReference): Promise<PodTrace> {
    return await traceOf(this, this.resolve(reference));
  }

  /** Calls `check` until it does not throw. */
  async eventually<T>(check: () => T | Promise<T>, options: WaitOptions = {}): Promise<T> {
    checkOptionNames('eventually', options, { within: true });
    return await eventually(this.#pace, check, options);
  }

  /** Lets so much time pass, with everything that happens in it. */
  async advance(duration: Duration): Promise<void> {
    await this.#pace.advance(spanMs(duration));
  }

  /** Sets the wall clock of all machines forwards or back, as an administrator or a time server does. Virtual time only. */
  jumpWallClock(byMs: number): void {
    const { clock } = this.#pace;
    if (!(clock instanceof VirtualClock)) throw new Error('only a virtual clock can be set');
    clock.jumpWall(byMs);
  }

  /** Lets everything happen that can at this instant. */
  async settle(): Promise<void> {
    await this.#pace.settle();
  }

  /** Events in the order they last happened. */
  events(filter: EventFilter = {}): Event[] {
    checkOptionNames('events', filter, { about: true, reason: true, type: true });
    const { about, reason, type } = filter;
    const target = about === undefined ? undefined : this.resolve(about);
    const wanted = this.#world.server.objects
      .list(Events)
      .filter(
        (event) =>
          (reason === undefined || event.reason === reason) &&
          (type === undefined || event.type === type) &&
          (target === undefined ||
            (event.involvedObject.kind === target.info.kind &&
              event.involvedObject.name === target.name &&
              (event.involvedObject.namespace ?? '') === target.namespace)),
      );
    return structuredClone([...sortedEvents(wanted)]);
  }

  /** What a reference names: of the built-in kinds, or of those that definitions have added. Throws when it names nothing. */
  resolve(reference: ObjectReference): ResolvedReference {
    return resolveReference(reference, customKinds(this.#objects()));
  }

  /** All objects of a kind as the API server holds them: shared, not to be changed, and never a call away. */
  peek<T extends KubernetesObject>(info: ResourceInfo<T>): readonly T[] {
    return this.#objects()?.list(info) ?? [];
  }

  /** How full the store is. */
  async storeStatus(): Promise<StoreStatus> {
    return await this.#store.status();
  }

  /** Calls back at every change of a pod, over restarts of the API server; first with all there are. */
  onPodChange(listener: (pod: Pod | undefined, old: Pod | undefined) => void): void {
    this.#podListeners.push(listener);
    this.#world.server.objects.onChange(Pods, listener);
  }

  /** Everything that changed the store so far: equal for equal seeds. Lines only with `keepEventLog`. */
  eventLog(): {
    readonly hash: string;
    readonly count: number;
    readonly byResource: ReadonlyMap<string, number>;
    readonly lines: readonly string[];
  } {
    const { log } = this.#world;
    return { hash: log.hash(), count: log.count(), byResource: new Map(log.byResource()), lines: log.lines };
  }

  /** Opens a real HTTPS port. */
  async listen(at: ListenAt = {}): Promise<Listening> {
    checkOptionNames('listen', at, LISTEN_FIELDS);
    const { createNodePlatform } = await import('../platform/node/node-platform.ts');
    const real = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
    this.#pki ??= await makePki({ ...real, files: createMemoryFiles({ nowMs: () => real.clock.nowMs() }) }, '/pki', [
      ...(at.host === undefined ? [] : [at.host]),
      ...(at.names ?? []),
    ]);
    await this.#publishAuthority(this.#pki.ca);
    const opened = await openListener(
      {
        pace: this.#pace,
        random: real.random,
        handler: () => this.#handler(),
        listenHttp: real.listenHttp,
        threads: real.threads,
        pki: this.#pki,
      },
      at,
    );
    const listening: Listening = {
      ...opened,
      close: async () => {
        this.#listening.delete(listening);
        await opened.close();
      },
    };
    this.#listening.add(listening);
    return listening;
  }

  /** A kubeconfig (YAML) for the open port; opens one when there is none. */
  async kubeconfig(): Promise<string> {
    const [open] = this.#listening;
    return (open ?? (await this.listen())).kubeconfig;
  }

  /** A link to the console in the browser that signs in once, within a minute, as the administrator; opens a port when there is none. */
  async console(): Promise<string> {
    const [open] = this.#listening;
    const { url } = open ?? (await this.listen());
    const release = this.#pace.clock.holdBusy('the code of a link to the console');
    try {
      const client = this.#world.clientFor(ADMIN, 'keelson-testing');
      const { body } = await client.raw({ method: 'POST', path: '/console/link' });
      return `${url}${(JSON.parse(Buffer.from(body).toString()) as { readonly path: string }).path}`;
    } finally {
      release();
    }
  }

  /** The cluster's state as plain JSON. Take it while nothing moves: between two waits. */
  async snapshot(): Promise<ClusterSnapshot> {
    const nodes = [...this.#world.nodes.values()].map(({ spec }) => spec);
    return { format: 1, nowMs: this.nowMs, nodes, entries: await this.#pace.drive(readEntries(this.#store)) };
  }

  /**
   * Goes back to a snapshot, as restoring etcd and starting all machines anew does: objects are as they were then, no
   * container runs, all watches break. Virtual time is set to the snapshot's.
   */
  async restore(snapshot: ClusterSnapshot): Promise<void> {
    await this.#pace.drive(this.#world.stop());
    this.#realNet.close();
    this.#identity = this.#world.identity;
    const { clock } = this.#pace;
    if (clock instanceof VirtualClock) clock.jumpWall(snapshot.nowMs - clock.nowMs());
    this.#restores++;
    this.#store = await openStore(this.#options, clock);
    await this.#history?.close();
    this.#history = this.#options.history?.(clock);
    await this.#pace.drive(writeEntries(this.#store, snapshot.entries));
    this.#world = this.#createWorld();
    await this.#begin(snapshot.nodes);
  }

  /**
   * Another cluster that begins with this one's state: objects, machines, images, webhooks, keys and time; of a warmed cluster
   * each test can have one. Containers start anew, as after `restore`. From then on neither sees what the other does; each has to
   * be stopped. Take it while nothing moves: between two waits.
   */
  async fork(): Promise<Cluster> {
    const nodes = [...this.#world.nodes.values()].map(({ spec }) => spec);
    const entries = await this.#pace.drive(readAll(this.#store));
    const options = { ...this.#options, startAt: this.nowMs, seed: `${this.#seed}/fork-${++this.#forks}` };
    const { seed, ...parts } = await createPace(options);
    const store = await openStore(options, parts.pace.clock);
    const origin = { images: this.#images, webhooks: this.#webhooks, identity: this.#world.identity };
    const fork = new Cluster({ ...options, seed, pki: this.#pki }, { ...parts, store, origin });
    try {
      await fork.#pace.drive(writeAll(store, entries));
      await fork.#begin(nodes);
    } catch (error) {
      await fork.stop();
      throw error;
    }
    return fork;
  }

  /** Ends everything. Calling it again does nothing more. */
  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Before each call of the test but `stop`. Throws when the cluster has stopped. */
  #before(call: string): void {
    if (this.#stopped !== undefined)
      throw new Error(
        `the cluster is stopped: ${call} was called after stop(), or is part of a call that was not awaited`,
      );
    this.#sleepHint(call);
  }

  /** @param nodes machines that the stored state knows already */
  async #begin(nodes: readonly SimNodeSpec[] = []): Promise<void> {
    const world = this.#world;
    await this.#pace.drive(world.startServer());
    const components = [world.startComponent('controllers'), world.startComponent('scheduler')];
    await this.#pace.drive(Promise.all([...components, ...nodes.map((spec) => world.addNode(spec).start())]));
  }

  async #end(): Promise<void> {
    await Promise.all([...this.#listening].map((listening) => listening.close()));
    await this.#pace.drive(this.#world.stop());
    await this.#history?.close();
    this.#realNet.close();
    this.#pace.end(new Error('the cluster was stopped while this call waited: it was not awaited before stop()'));
  }

  #createWorld(): SimWorld {
    const { clock } = this.#pace;
    const { log } = this.#options;
    const seed = this.#restores === 0 ? this.#seed : `${this.#seed}/restored-${this.#restores}`;
    const platform: SimPlatform<Clock> = createSimPlatform<Clock>({
      clock,
      seed,
      addresses: ['10.64.0.1'],
      host: { hostname: 'control-plane' },
      log: log && { forwardTo: log },
      loopback: this.#realNet,
      eventLoop: this.#eventLoop,
    });
    this.#webhooks.listen(platform.network, clock);
    const { controllers, scheduler = true, unknownImages = 'run', keepEventLog = false, cloud = false } = this.#options;
    return new SimWorld({
      platform,
      store: this.#store,
      history: this.#history,
      seed,
      repeatable: this.#pace.kind === 'virtual',
      scheduler,
      realNet: this.#realNet,
      unknownImages,
      cloud,
      keepLines: keepEventLog,
      runtimeConfig: this.#options.runtimeConfig ?? '',
      console: this.#options.console === false ? undefined : loadConsole,
      images: () => [...this.#images.values()],
      onServerStart: ({ objects }) => this.#podListeners.forEach((listener) => objects.onChange(Pods, listener)),
      controllers,
      log,
      identity: this.#pki ?? this.#identity,
    });
  }

  #objects(): SimWorld['server']['objects'] | undefined {
    return this.#world.serverUp ? this.#world.server.objects : undefined;
  }

  #handler(): SimWorld['server']['handler'] | undefined {
    return this.#world.serverUp ? this.#world.server.handler : undefined;
  }

  /** Pods and clients inside the cluster find the authority of the real port in `kube-root-ca.crt`. */
  async #publishAuthority(ca: ClusterPki['ca']): Promise<void> {
    if (this.#world.authority.certPem === ca.certPem) return;
    this.#world.authority = ca;
    const { items } = await this.client.resource(ConfigMaps).list({ fieldSelector: 'metadata.name=kube-root-ca.crt' });
    if (items.length === 0) return;
    await this.faults.restart('controllers'); // They are told of the authority when they start, and correct what differs.
  }
}
