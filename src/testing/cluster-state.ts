/**
 * The state behind a `Cluster`: the store, and the world of servers and machines over it, which `restore` replaces. Images,
 * webhooks and listeners of pods outlive a world.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import { Pods } from '../api/gen/resources.ts';
import type { SchedulerSetup } from '../cluster/control-plane/scheduler-setup.ts';
import type { ClusterPki } from '../component-helpers/pki/cluster-pki.ts';
import type { SimImage } from '../cri/sim/sim-image.ts';
import type { Clock } from '../platform/clock.ts';
import type { EventLoop } from '../platform/event-loop.ts';
import { createNodeCrypto } from '../platform/node/crypto.ts';
import { createSimPlatform, type SimPlatform } from '../platform/sim/sim-platform.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import type { HistoryLog } from '../storage/history-log.ts';
import type { Store, StoreStatus } from '../storage/store.ts';
import { type ClusterOptions, createPace, openStore } from './cluster-options.ts';
import { loadConsole } from './load-console.ts';
import { image as describeImage } from './option-shapes.ts';
import type { Pace } from './pace.ts';
import { createTestNet, type TestNet } from './real-net.ts';
import { readSchedulerConfig } from './scheduler-config.ts';
import type { SimNodeSpec } from './sim-node-spec.ts';
import type { WorldIdentity } from './sim-world-deps.ts';
import { SimWorld } from './sim-world.ts';
import { type ClusterSnapshot, readAll, readEntries, shareObjects, storedEntries } from './snapshot.ts';
import { TestWebhooks } from './webhooks.ts';

interface StateParts {
  readonly pace: Pace;
  readonly store: Store;
  readonly eventLoop?: EventLoop | undefined;
  /** The parts that a fork shares with its origin, beside the objects. */
  readonly origin?: Pick<ClusterState, 'images' | 'webhooks'> & { readonly identity: WorldIdentity | undefined };
}

type PodListener = (pod: Pod | undefined, old: Pod | undefined) => void;

export class ClusterState {
  readonly options: ClusterOptions;
  readonly pace: Pace;
  readonly images = new Map<string, SimImage>();
  readonly webhooks: TestWebhooks;
  /** The certificate authority of real ports, once there is one. */
  pki: ClusterPki | undefined;
  readonly #podListeners: PodListener[] = [];
  #world: SimWorld;
  #store: Store;
  #history: HistoryLog | undefined;
  /** Webhooks and other servers may listen on this machine. */
  readonly #realNet: TestNet;
  readonly #eventLoop: EventLoop | undefined;
  /** The keys and the certificate authority of the previous world, of this cluster or of its origin. */
  #identity: WorldIdentity | undefined;
  #restores = 0;
  #schedulerSetup: SchedulerSetup | undefined;
  #forks = 0;

  /** No component runs before `begin`. */
  static async open(options: ClusterOptions): Promise<ClusterState> {
    const { seed, ...parts } = await createPace(options);
    return new ClusterState({ ...options, seed }, { ...parts, store: await openStore(options, parts.pace.clock) });
  }

  private constructor(options: ClusterOptions, { pace, store, eventLoop, origin }: StateParts) {
    this.options = options;
    this.pace = pace;
    this.pki = options.pki;
    this.#store = store;
    this.#history = options.history?.(pace.clock);
    this.#realNet = createTestNet(pace.clock);
    this.#eventLoop = eventLoop;
    this.webhooks = new TestWebhooks(origin?.webhooks);
    this.#identity = origin?.identity;
    for (const [name, image] of origin?.images ?? []) this.images.set(name, image);
    for (const spec of options.images ?? []) {
      const image = describeImage(spec.name, spec);
      if (!this.images.has(image.name)) this.images.set(image.name, image);
    }
    this.#world = this.#createWorld();
  }

  get world(): SimWorld {
    return this.#world;
  }

  get #nodeSpecs(): SimNodeSpec[] {
    return [...this.#world.nodes.values()].map(({ spec }) => spec);
  }

  /** Undefined while the API server is down. */
  objects(): SimWorld['server']['objects'] | undefined {
    return this.#world.serverUp ? this.#world.server.objects : undefined;
  }

  storeStatus(): Promise<StoreStatus> {
    return this.#store.status();
  }

  onPodChange(listener: PodListener): void {
    this.#podListeners.push(listener);
    this.#world.server.objects.onChange(Pods, listener);
  }

  /** @param nodes machines whose Node objects the stored state already contains */
  async begin(nodes: readonly SimNodeSpec[] = []): Promise<void> {
    const world = this.#world;
    this.#schedulerSetup = await readSchedulerConfig(this.options, { pace: this.pace, platform: world.platform });
    await this.pace.drive(world.startServer());
    const components = [world.components.start('controllers'), world.components.start('scheduler')];
    await this.pace.drive(Promise.all([...components, ...nodes.map((spec) => world.addNode(spec).start())]));
  }

  async end(): Promise<void> {
    await this.pace.drive(this.#world.stop());
    await this.#history?.close();
    this.#realNet.close();
    this.pace.end(new Error('the cluster was stopped while this call waited: it was not awaited before stop()'));
  }

  async snapshot(): Promise<ClusterSnapshot> {
    const { clock } = this.pace;
    const entries = await this.pace.drive(readEntries(this.#store));
    return { format: 1, nowMs: clock.nowMs(), nodes: this.#nodeSpecs, entries };
  }

  async restore(snapshot: ClusterSnapshot): Promise<void> {
    await this.pace.drive(this.#world.stop());
    this.#realNet.close();
    this.#identity = this.#world.identity;
    const { clock } = this.pace;
    if (clock instanceof VirtualClock) clock.jumpWall(snapshot.nowMs - clock.nowMs());
    this.#restores++;
    this.#store = await this.pace.drive(openStore(this.options, clock, storedEntries(snapshot.entries)));
    await this.#history?.close();
    this.#history = this.options.history?.(clock);
    this.#world = this.#createWorld();
    await this.begin(snapshot.nodes);
  }

  async fork(): Promise<ClusterState> {
    const nodes = this.#nodeSpecs;
    const entries = await this.pace.drive(readAll(this.#store));
    const startAt = this.pace.clock.nowMs();
    const options = { ...this.options, startAt, seed: `${this.options.seed}/fork-${++this.#forks}` };
    const { seed, ...parts } = await createPace(options);
    const store = await parts.pace.drive(openStore(options, parts.pace.clock, entries));
    shareObjects(entries);
    const origin = { images: this.images, webhooks: this.webhooks, identity: this.#world.identity };
    const fork = new ClusterState({ ...options, seed, pki: this.pki }, { ...parts, store, origin });
    try {
      await fork.begin(nodes);
    } catch (error) {
      await fork.end();
      throw error;
    }
    return fork;
  }

  #createWorld(): SimWorld {
    const { clock } = this.pace;
    const { log, controllers, scheduler = true, unknownImages = 'run', cloud = false } = this.options;
    const seed = this.#restores === 0 ? String(this.options.seed) : `${this.options.seed}/restored-${this.#restores}`;
    const platform: SimPlatform<Clock> = createSimPlatform<Clock>({
      clock,
      seed,
      addresses: ['10.64.0.1'],
      host: { hostname: 'control-plane' },
      log: log && { forwardTo: log },
      loopback: this.#realNet,
      eventLoop: this.#eventLoop,
      sha256Hex: createNodeCrypto().sha256Hex,
    });
    this.webhooks.listen(platform.network, clock);
    return new SimWorld({
      platform,
      store: this.#store,
      history: this.#history,
      seed,
      repeatable: this.pace.kind === 'virtual',
      scheduler,
      schedulerSetup: () => this.#schedulerSetup,
      realNet: this.#realNet,
      unknownImages,
      cloud,
      keepLines: this.options.keepEventLog ?? false,
      runtimeConfig: this.options.runtimeConfig ?? '',
      console: this.options.console === false ? undefined : loadConsole,
      routes: this.options.routes,
      images: () => [...this.images.values()],
      onServerStart: ({ objects }) => this.#podListeners.forEach((listener) => objects.onChange(Pods, listener)),
      controllers,
      log,
      identity: this.pki ?? this.#identity,
    });
  }
}
