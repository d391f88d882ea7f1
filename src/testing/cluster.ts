/**
 * A Kubernetes cluster inside this process: the real API server, controllers, scheduler and kubelets, on simulated machines
 * and on real or virtual time. The entry of `keelson/testing`.
 */
import type { Event, Pod } from '../api/gen/core-v1.ts';
import { CustomResourceDefinitions, Events } from '../api/gen/resources.ts';
import type { KubernetesObject } from '../api/object.ts';
import { type ResourceInfo } from '../api/resource-info.ts';
import type { Principal } from '../api/transport.ts';
import type { Client, WriteOptions } from '../client/client.ts';
import type { PodTrace } from '../component-helpers/pod-trace/pod-trace.ts';
import type { SimImage, SimImageSpec } from '../cri/sim/sim-image.ts';
import type { Clock } from '../platform/clock.ts';
import { everyRealMs, idleMs, warn } from '../platform/node/real-time.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import type { StoreStatus } from '../storage/store.ts';
import type { AccessWords } from '../why/access/access-request.ts';
import type { Explanation } from '../why/explanation.ts';
import { applyManifests, type Manifests } from './apply.ts';
import { reportCallers } from './caller.ts';
import { checkOptions, type ClusterOptions } from './cluster-options.ts';
import { ClusterState } from './cluster-state.ts';
import { customKinds } from './custom-kinds.ts';
import { spanMs, type Duration } from './duration.ts';
import type { EventLog } from './event-log.ts';
import { explainAccess, explainObject, explanationOf, traceOf } from './explain.ts';
import { TestFaults } from './faults.ts';
import { findEvents, type EventFilter } from './find-events.ts';
import { LISTEN_FIELDS, type ListenAt, type Listening } from './listener.ts';
import { reportProgress } from './long-move.ts';
import { TestNodes } from './nodes.ts';
import { OpenPorts } from './open-ports.ts';
import { checkOptionNames, image as describeImage } from './option-shapes.ts';
import { resolveReference, type ObjectReference, type ResolvedReference } from './references.ts';
import { createSleepHint } from './sleep-hint.ts';
import type { ClusterSnapshot } from './snapshot.ts';
import { createUserClient } from './user-client.ts';
import { eventually, waitForObject, type Expectation, type WaitOptions } from './wait.ts';
import type { WebhookFunction } from './webhooks.ts';

const ADMIN: Principal = { name: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] };

/** A running cluster. */
export class Cluster implements AsyncDisposable {
  /** Typed client of the administrator, in this process. Objects it returns are the caller's own. */
  readonly client: Client;
  readonly nodes: TestNodes;
  readonly faults: TestFaults;
  readonly #state: ClusterState;
  readonly #ports: OpenPorts;
  #stopped: Promise<void> | undefined;
  readonly #sleepHint: (call: string) => void;

  static {
    // What a run has written is told after its end too.
    reportCallers(Cluster, (cluster, call) => cluster.#before(call), ['stop', 'eventLog']);
  }

  /** Starts a cluster; resolves when the API server serves and all nodes are Ready. */
  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    checkOptions(options);
    const cluster = new Cluster(await ClusterState.open(options));
    const { nodes = 1 } = options;
    try {
      await cluster.#state.begin();
      await cluster.nodes.addMany(typeof nodes === 'number' ? Array.from({ length: nodes }, () => ({})) : nodes);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  private constructor(state: ClusterState) {
    this.#state = state;
    const { pace, options } = state;
    this.#sleepHint =
      pace.kind === 'virtual' && options.sleepHint !== false
        ? createSleepHint({ clock: pace.clock, idleMs, warn })
        : (): void => undefined;
    this.client = this.clientFor(ADMIN);
    const untainted = options.controllers?.includes('node-lifecycle-controller') ?? true;
    const before = (call: string): void => this.#before(call);
    const world = (): ClusterState['world'] => state.world;
    this.nodes = new TestNodes({ pace, world, client: () => this.client, untainted, before });
    this.faults = new TestFaults({ pace, world, before });
    const restartControllers = (): Promise<void> => this.faults.restart('controllers');
    this.#ports = new OpenPorts({ state, client: this.client, restartControllers });
  }

  /** Now, milliseconds since the Unix epoch. */
  get nowMs(): number {
    return this.#state.pace.clock.nowMs();
  }

  /** The clock everything in the cluster runs on. */
  get clock(): Clock {
    return this.#state.pace.clock;
  }

  /** A client that acts as this user; what it may do, RBAC says. */
  clientFor(principal: Principal, userAgent: string = 'keelson-testing'): Client {
    checkOptionNames('clientFor', principal, { name: true, uid: true, groups: true, extra: true });
    const forward: Client = {
      resource: (info) => this.#state.world.clientFor(principal, userAgent).resource(info),
      raw: (request) => this.#state.world.clientFor(principal, userAgent).raw(request),
      upgrade: (request) => this.#state.world.clientFor(principal, userAgent).upgrade(request),
    };
    return createUserClient(forward, {
      pace: this.#state.pace,
      before: (call) => this.#before(call),
      fieldValidation: this.#state.options.fieldValidation ?? 'Strict',
      definitions: () => this.#state.objects()?.list(CustomResourceDefinitions) ?? [],
    });
  }

  /** Makes a function of the test a webhook. Gives the URL for `clientConfig.url`; no caBundle is needed. */
  webhook(path: string, answer: WebhookFunction): string {
    return this.#state.webhooks.add(path, answer);
  }

  /** Describes an image for all nodes: from now on, containers of this name behave so. */
  image(name: string, spec: SimImageSpec = {}): SimImage {
    const image = describeImage(name, spec);
    this.#state.images.set(image.name, image);
    for (const node of this.#state.world.nodes.values()) node.runtime.store.add(image);
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
      clock: this.#state.pace.clock,
      kinds: () => customKinds(this.#state.objects()),
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
    const deps = { pace: this.#state.pace, client: this.client, objects: () => this.#state.objects(), explain };
    return (await this.#moving({ call: 'waitFor' }, () =>
      waitForObject(deps, { reference, expectation }, options),
    )) as T;
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
    return await eventually(this.#state.pace, check, options);
  }

  /** Lets so much time pass, with everything that happens in it. */
  async advance(duration: Duration): Promise<void> {
    const totalMs = spanMs(duration);
    await this.#moving({ call: 'advance', totalMs }, () => this.#state.pace.advance(totalMs));
  }

  /** Sets the wall clock of all machines forwards or back, as an administrator or a time server does. Virtual time only. */
  jumpWallClock(byMs: number): void {
    const { clock } = this.#state.pace;
    if (!(clock instanceof VirtualClock)) throw new Error('only a virtual clock can be set');
    clock.jumpWall(byMs);
  }

  /** Lets everything happen that can at this instant. */
  async settle(): Promise<void> {
    await this.#state.pace.settle();
  }

  /** Events in the order they last happened. */
  events(filter: EventFilter = {}): Event[] {
    checkOptionNames('events', filter, { about: true, reason: true, type: true });
    return findEvents(this.#state.world.server.objects.list(Events), filter, (about) => this.resolve(about));
  }

  /** What a reference names: of the built-in kinds, or of those that definitions have added. Throws when it names nothing. */
  resolve(reference: ObjectReference): ResolvedReference {
    return resolveReference(reference, customKinds(this.#state.objects()));
  }

  /** All objects of a kind as the API server holds them: shared, not to be changed, and never a call away. */
  peek<T extends KubernetesObject>(info: ResourceInfo<T>): readonly T[] {
    return this.#state.objects()?.list(info) ?? [];
  }

  /** One object as the API server holds it, found by its key: shared, not to be changed, and never a call away. */
  peekOne({ info, namespace, name }: ResolvedReference): KubernetesObject | undefined {
    return this.#state.objects()?.get(info, namespace, name);
  }

  /** How full the store is. */
  async storeStatus(): Promise<StoreStatus> {
    return await this.#state.storeStatus();
  }

  /** Calls back at every change of a pod, over restarts of the API server; first with all there are. */
  onPodChange(listener: (pod: Pod | undefined, old: Pod | undefined) => void): void {
    this.#state.onPodChange(listener);
  }

  /** Everything that changed the store so far: equal for equal seeds. Lines only with `keepEventLog`. */
  eventLog(): {
    readonly hash: string;
    readonly count: number;
    readonly byResource: ReadonlyMap<string, number>;
    readonly lines: readonly string[];
    readonly revision: number;
    readonly changesAfter: EventLog['changesAfter'];
  } {
    const { log } = this.#state.world;
    const { lines, changesAfter } = log;
    const counts = { count: log.count(), byResource: new Map(log.byResource()), revision: log.revision() };
    return { hash: log.hash(), ...counts, lines, changesAfter };
  }

  /** Opens a real HTTPS port. */
  async listen(at: ListenAt = {}): Promise<Listening> {
    checkOptionNames('listen', at, LISTEN_FIELDS);
    return await this.#ports.listen(at);
  }

  /** A kubeconfig (YAML) for the open port; opens one when there is none. */
  async kubeconfig(): Promise<string> {
    return (await this.#ports.first()).kubeconfig;
  }

  /** A link to the console in the browser that signs in once, within a minute, as the administrator; opens a port when there is none. */
  async console(): Promise<string> {
    return await this.#ports.consoleLink(this.#state.world.clientFor(ADMIN, 'keelson-testing'));
  }

  /** The cluster's state as plain JSON. Take it while nothing moves: between two waits. */
  async snapshot(): Promise<ClusterSnapshot> {
    return await this.#state.snapshot();
  }

  /**
   * Goes back to a snapshot, as restoring etcd and starting all machines anew does: objects are as they were then, no
   * container runs, all watches break. Virtual time is set to the snapshot's.
   */
  async restore(snapshot: ClusterSnapshot): Promise<void> {
    await this.#state.restore(snapshot);
  }

  /**
   * Another cluster that begins with this one's state: objects, machines, images, webhooks, keys and time; of a warmed cluster
   * each test can have one. Containers start anew, as after `restore`. From then on neither sees what the other does; each has to
   * be stopped. Take it while nothing moves: between two waits.
   */
  async fork(): Promise<Cluster> {
    return new Cluster(await this.#state.fork());
  }

  /** Ends everything. Calling it again does nothing more. */
  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Says how far a call is that takes long, where a test waits for it: not in scenarios, nor on the real clock. */
  async #moving<T>(move: { readonly call: string; readonly totalMs?: number }, work: () => Promise<T>): Promise<T> {
    const { pace, options } = this.#state;
    if (pace.kind === 'real' || options.sleepHint === false) return await work();
    return await reportProgress({ clock: pace.clock, everyRealMs, warn }, move, work);
  }

  /** Before each call of the test but `stop`. Throws when the cluster has stopped. */
  #before(call: string): void {
    if (this.#stopped !== undefined)
      throw new Error(
        `the cluster is stopped: ${call} was called after stop(), or is part of a call that was not awaited`,
      );
    this.#sleepHint(call);
  }

  async #end(): Promise<void> {
    await this.#ports.close();
    await this.#state.end();
  }
}
