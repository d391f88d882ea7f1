/**
 * A Kubernetes cluster inside this process: the real API server, controllers, scheduler and kubelets, on simulated machines and
 * on real or virtual time. The entry point of `keelson/testing`.
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
import { type EventLogSummary, summaryOf } from './event-log.ts';
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
import { ADMIN } from './sim-identities.ts';
import type { ClusterSnapshot } from './snapshot.ts';
import { createUserClient, forwardingClient } from './user-client.ts';
import { eventually, waitForObject, type Expectation, type WaitOptions } from './wait.ts';
import type { WebhookFunction } from './webhooks.ts';

/** A running cluster. */
export class Cluster implements AsyncDisposable {
  /** A typed client of the administrator, in this process. The objects that it returns are copies. */
  readonly client: Client;
  readonly nodes: TestNodes;
  readonly faults: TestFaults;
  readonly #state: ClusterState;
  readonly #ports: OpenPorts;
  #stopped: Promise<void> | undefined;
  readonly #sleepHint: (call: string) => void;

  static {
    // `eventLog` can be called after the end of the cluster.
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
    const hints = pace.kind === 'virtual' && options.sleepHint !== false;
    this.#sleepHint = hints ? createSleepHint({ clock: pace.clock, idleMs, warn }) : (): void => undefined;
    this.client = this.clientFor(ADMIN);
    const untainted = options.controllers?.includes('node-lifecycle-controller') ?? true;
    const before = (call: string): void => this.#before(call);
    const world = (): ClusterState['world'] => state.world;
    this.nodes = new TestNodes({ pace, world, client: () => this.client, untainted, before });
    this.faults = new TestFaults({ pace, world, before });
    const restartControllers = (): Promise<void> => this.faults.restart('controllers');
    this.#ports = new OpenPorts({ state, client: this.client, restartControllers });
  }

  /** The current time in milliseconds since 1970. */
  get nowMs(): number {
    return this.#state.pace.clock.nowMs();
  }

  /** The clock of all components of the cluster. */
  get clock(): Clock {
    return this.#state.pace.clock;
  }

  /** Whether the API server runs. */
  get isServed(): boolean {
    return this.#state.world.serverUp;
  }

  /** A client that acts as this user, with the rights that RBAC grants. */
  clientFor(principal: Principal, userAgent: string = 'keelson-testing'): Client {
    checkOptionNames('clientFor', principal, { name: true, uid: true, groups: true, extra: true });
    const current = (): Client => this.#state.world.clientFor(principal, userAgent);
    return createUserClient(forwardingClient(current), {
      pace: this.#state.pace,
      before: (call) => this.#before(call),
      fieldValidation: this.#state.options.fieldValidation ?? 'Strict',
      definitions: () => this.#state.objects()?.list(CustomResourceDefinitions) ?? [],
    });
  }

  /** Makes a function of the test a webhook. Returns the URL for `clientConfig.url`; no caBundle is needed. */
  webhook(path: string, answer: WebhookFunction): string {
    return this.#state.webhooks.add(path, answer);
  }

  /** Sets the behavior of all containers with an image of this name, on all nodes. */
  image(name: string, spec: SimImageSpec = {}): SimImage {
    const image = describeImage(name, spec);
    this.#state.images.set(image.name, image);
    for (const node of this.#state.world.nodes.values()) node.runtime.store.add(image);
    return image;
  }

  /** Server-side apply of YAML or objects, in order. Unknown fields are refused. */
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

  /** Waits until an object is as expected; see `Expectation`. Rejects with a `WaitError` that shows the object's state. */
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

  /**
   * Explains an object's current state: causes, down to the first one, and their cures. Rejects when the object does not exist.
   */
  async why(reference: ObjectReference): Promise<Explanation> {
    return await explainObject(this, this.resolve(reference));
  }

  /** Explains why a user may do something, or may not: the rule and its binding, or the missing right. */
  async whyCan(words: AccessWords): Promise<Explanation> {
    return await explainAccess(this, words);
  }

  /** The timeline of a pod's start, step by step. Rejects when the pod does not exist. */
  async trace(reference: ObjectReference): Promise<PodTrace> {
    return await traceOf(this, this.resolve(reference));
  }

  /** Calls `check` until it does not throw. */
  async eventually<T>(check: () => T | Promise<T>, options: WaitOptions = {}): Promise<T> {
    checkOptionNames('eventually', options, { within: true });
    return await eventually(this.#state.pace, check, options);
  }

  /** Lets this much time pass, with all events in it. */
  async advance(duration: Duration): Promise<void> {
    const totalMs = spanMs(duration);
    await this.#moving({ call: 'advance', totalMs }, () => this.#state.pace.advance(totalMs));
  }

  /** Moves the wall clock of all machines forwards or back, as an administrator or a time server does. Virtual time only. */
  jumpWallClock(byMs: number): void {
    const { clock } = this.#state.pace;
    if (!(clock instanceof VirtualClock)) throw new Error('only a virtual clock can be set');
    clock.jumpWall(byMs);
  }

  /** Runs everything that can happen at the current instant. */
  async settle(): Promise<void> {
    await this.#state.pace.settle();
  }

  /** Events in the order of their last occurrence. */
  events(filter: EventFilter = {}): Event[] {
    checkOptionNames('events', filter, { about: true, reason: true, type: true });
    return findEvents(this.#state.world.server.objects.list(Events), filter, (about) => this.resolve(about));
  }

  /** The resource, namespace and name of a reference, of built-in and custom kinds. Throws for an invalid one. */
  resolve(reference: ObjectReference): ResolvedReference {
    return resolveReference(reference, customKinds(this.#state.objects()));
  }

  /** All objects of a kind from the API server's cache, without a call. They are shared and must not be changed. */
  peek<T extends KubernetesObject>(info: ResourceInfo<T>): readonly T[] {
    return this.#state.objects()?.list(info) ?? [];
  }

  /** One object from the API server's cache by its key, without a call. It is shared and must not be changed. */
  peekOne({ info, namespace, name }: ResolvedReference): KubernetesObject | undefined {
    return this.#state.objects()?.get(info, namespace, name);
  }

  /** The size of the store. */
  async storeStatus(): Promise<StoreStatus> {
    return await this.#state.storeStatus();
  }

  /** Calls `listener` at every change of a pod, also after restarts of the API server; first for all existing pods. */
  onPodChange(listener: (pod: Pod | undefined, old: Pod | undefined) => void): void {
    this.#state.onPodChange(listener);
  }

  /** A summary of all changes of the store, equal for equal seeds. Lines are kept only with `keepEventLog`. */
  eventLog(): EventLogSummary {
    return summaryOf(this.#state.world.log);
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

  /** A link to the console that signs in as the administrator, once and within a minute; opens a port when there is none. */
  async console(): Promise<string> {
    return await this.#ports.consoleLink(this.#state.world.clientFor(ADMIN, 'keelson-testing'));
  }

  /** The cluster's state as plain JSON. Call it between two waits, while nothing runs. */
  async snapshot(): Promise<ClusterSnapshot> {
    return await this.#state.snapshot();
  }

  /**
   * Restores a snapshot, as restoring etcd and starting all machines again does: objects have their former state, no container
   * runs, all watches break. Virtual time is set to the snapshot's.
   */
  async restore(snapshot: ClusterSnapshot): Promise<void> {
    await this.#state.restore(snapshot);
  }

  /**
   * Creates another cluster with this one's state: objects, machines, images, webhooks, keys and time, so that each test can have
   * a copy of a prepared cluster. Containers start again, as after `restore`. Both clusters are then independent, and each has to
   * be stopped. Call it between two waits, while nothing runs.
   */
  async fork(): Promise<Cluster> {
    return new Cluster(await this.#state.fork());
  }

  /** Stops everything. Further calls have no effect. */
  stop(): Promise<void> {
    this.#stopped ??= this.#end();
    return this.#stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Reports the progress of a long call when a test waits for it; not in scenarios, nor in real time. */
  async #moving<T>(move: { readonly call: string; readonly totalMs?: number }, work: () => Promise<T>): Promise<T> {
    const { pace, options } = this.#state;
    if (pace.kind === 'real' || options.sleepHint === false) return await work();
    return await reportProgress({ clock: pace.clock, everyRealMs, warn }, move, work);
  }

  /** Called before each call of the test except `stop`. Throws when the cluster has stopped. */
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
