/**
 * Keeps one pod of each DaemonSet on every node that the set selects. Upstream: pkg/controller/daemon.
 *
 * Watches: DaemonSets, their ControllerRevisions, pods, nodes. Writes alone: DaemonSet status, its revisions, its
 * pods' creation and deletion, owner references to it. The scheduler binds the pods, whose node affinity names the
 * node.
 */
import type { ControllerRevision, DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Node, Pod } from '../../api/gen/core-v1.ts';
import { ControllerRevisions, DaemonSets, Nodes, Pods } from '../../api/gen/resources.ts';
import { compileLabelSelector, type LabelMatcher } from '../../api/label-selector.ts';
import type { Stored } from '../../api/object.ts';
import { deepEqual } from '../../base/equal.ts';
import { stepByStep, StepMeter, type Steps } from '../../base/steps.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { Expectations } from '../../component-helpers/expectations.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import type { Clock } from '../../platform/clock.ts';
import { background } from '../../platform/unexpected.ts';
import { type ClaimConfig, claimObjects } from '../controller-ref-manager.ts';
import { type Controller, type ControllerDeps, createKeyedLoop, informerList, type KeyedLoop } from '../controller.ts';
import { createPodControl, type PodControl } from '../pod-control.ts';
import { orphansOf, PODS_BY_CONTROLLER, watchPods } from '../pod-events.ts';
import type { Tallies } from '../pod-tallies.ts';
import { REQUIREMENTS_PER_TURN, selectedOf } from '../selecting-owners.ts';
import { concernsDaemons, placementSize, shouldRun } from './daemon-sets.ts';
import { createDaemonTallies, type DaemonTally } from './daemon-tally.ts';
import { cleanUpHistory, constructHistory, hashOf, type HistoryInput } from './history.ts';
import { EndedPods } from './ended-pods.ts';
import type { Moment } from './node-view.ts';
import type { RollingStep } from './rolling-update.ts';
import { calculateStatus } from './status.ts';
import { storeDaemonSetStatus } from './store-status.ts';
import { syncNodes } from './sync-nodes.ts';

const ACCOUNT = 'daemon-set-controller';
const RECORDER = 'daemonset-controller';
const WORKERS = 2;

export function createDaemonSetController(deps: ControllerDeps): Controller {
  return new DaemonSetsController(deps).loop;
}

/** Upstream: daemon.DaemonSetsController. */
class DaemonSetsController {
  readonly #platform: ControllerDeps['platform'];
  readonly #clock: Clock;
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #sets: Informer<DaemonSet>;
  readonly #revisions: Informer<ControllerRevision>;
  readonly #pods: Informer<Pod>;
  readonly #nodes: Informer<Node>;
  readonly #podControl: PodControl;
  readonly #expectations: Expectations;
  readonly #endedPods: EndedPods;
  readonly #tallies: Tallies<DaemonTally, LabelMatcher>;
  readonly loop: KeyedLoop;

  constructor(deps: ControllerDeps) {
    this.#platform = deps.platform;
    this.#clock = deps.platform.clock;
    this.#client = deps.clientFor(ACCOUNT);
    this.#recorder = deps.recorderFor(RECORDER);
    this.#sets = deps.informers.informer(DaemonSets);
    this.#revisions = deps.informers.informer(ControllerRevisions);
    this.#pods = deps.informers.informer(Pods);
    this.#nodes = deps.informers.informer(Nodes);
    this.#podControl = createPodControl(this.#client, this.#recorder);
    this.#expectations = new Expectations(this.#clock);
    this.#tallies = createDaemonTallies(this.#pods, this.#nodes);
    this.loop = createKeyedLoop(deps, {
      name: 'daemonset-controller',
      queueName: 'daemonset',
      workers: WORKERS,
      informers: informerList(this.#sets, this.#revisions, this.#pods, this.#nodes),
      sync: (key, signal) => this.#syncDaemonSet(key, signal),
    });
    this.#endedPods = new EndedPods({
      clock: this.#clock,
      recorder: this.#recorder,
      retryAfter: (key, delayMs) => this.loop.queue.addAfter(key, delayMs),
    });
    this.#addHandlers();
  }

  #selectorOf(set: DaemonSet): LabelMatcher {
    return compileLabelSelector(set.spec?.selector);
  }

  async #syncDaemonSet(key: string, signal: AbortSignal): Promise<void> {
    const set = this.#sets.get(parseKey(key));
    if (set === undefined) return this.#expectations.forget(key);
    if (this.#selectorOf(set).isEverything) {
      this.#recorder.event(
        set,
        'Warning',
        'SelectingAll',
        'This daemon set is selecting all pods. A non-empty selector is required.',
      );
      return;
    }
    if (set.metadata.deletionTimestamp !== undefined) return;
    const pause = (): Promise<void> => this.#clock.yield();
    const selector = this.#selectorOf(set);
    const claim = { client: this.#client, owner: set, ownerInfo: DaemonSets, selector, signal, pause };
    const tally = await this.#claimedPods(set, claim);
    const controllerRevisions = this.#revisions.list(set.metadata.namespace);
    const history: HistoryInput = {
      client: this.#client,
      set,
      pods: () => tally.pods(),
      signal,
      pause,
      revisions: await claimObjects(claim, { info: ControllerRevisions, objects: controllerRevisions }),
    };
    const { current, old } = await constructHistory(history);
    const hash = hashOf(current);
    const moment = (): Moment => ({ set, hash, nowMs: this.#clock.nowMs() });
    await stepByStep(tally.updateSteps(moment()), pause);
    if (!this.#expectations.satisfied(key)) return await this.#writeStatus(moment(), { tally, observe: false }, signal);
    tally.update(moment());
    let failure = await this.#syncNodes(moment(), this.#endedPods.steps(set, tally.plan()), signal);
    if (failure === undefined && this.#expectations.satisfied(key)) {
      tally.update(moment());
      if (set.spec?.updateStrategy?.type === 'RollingUpdate')
        failure = await this.#syncNodes(moment(), tally.rollingStep(), signal);
      await cleanUpHistory(history, old);
    }
    await this.#writeStatus(moment(), { tally, observe: true }, signal);
    if (failure !== undefined) throw failure;
  }

  /** The set's pods, after adoption and release where needed. */
  async #claimedPods(set: Stored<DaemonSet>, claim: ClaimConfig): Promise<DaemonTally> {
    const { namespace } = set.metadata;
    const tally = this.#tallies.of(set, this.#selectorOf(set));
    const alive = this.#pods
      .byIndex(PODS_BY_CONTROLLER, orphansOf(namespace))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const orphans = await selectedOf(alive, tally.selector, claim.pause);
    const toClaim = [...tally.toRelease(), ...orphans];
    if (toClaim.length === 0) return tally;
    this.#tallies.adopted(tally, await claimObjects(claim, { info: Pods, objects: toClaim }));
    return tally;
  }

  #syncNodes(moment: Moment, step: RollingStep, signal: AbortSignal): Promise<unknown> {
    const deps = { podControl: this.#podControl, expectations: this.#expectations, clock: this.#clock };
    return syncNodes(deps, { moment, step }, signal);
  }

  async #writeStatus(
    moment: Moment,
    { tally, observe }: { readonly tally: DaemonTally; readonly observe: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { set } = moment;
    tally.update(moment);
    const status = calculateStatus(set, tally.counts());
    if (observe && set.metadata.generation !== undefined) status.observedGeneration = set.metadata.generation;
    await storeDaemonSetStatus({ client: this.#client, clock: this.#clock }, { set, status }, signal);
    const minReadySeconds = set.spec?.minReadySeconds ?? 0;
    if (minReadySeconds > 0 && status.numberReady !== status.numberAvailable)
      this.loop.queue.addAfter(keyOfObject(set), minReadySeconds * 1000);
  }

  #forget(set: Stored<DaemonSet>): void {
    this.#expectations.forget(keyOfObject(set));
    this.#tallies.forget(set);
  }

  #enqueue(set: Stored<DaemonSet>): void {
    this.loop.queue.add(keyOfObject(set));
  }

  /** Syncs the DaemonSets that run a pod on the node. */
  #enqueueSetsOf(node: Stored<Node>): void {
    this.#enqueueWhere((set) => shouldRun(set, node).run);
  }

  /** Any number of sets may have thousands of affinity terms each. */
  #enqueueWhere(isConcerned: (set: Stored<DaemonSet>) => boolean): void {
    const { clock, log } = this.#platform;
    const left = stepByStep(this.#compareSets(isConcerned), () => clock.yield());
    if (left instanceof Promise) background(log, 'daemon sets were not compared with a node', left);
  }

  *#compareSets(isConcerned: (set: Stored<DaemonSet>) => boolean): Steps<void> {
    const meter = new StepMeter(REQUIREMENTS_PER_TURN);
    for (const set of this.#sets.list()) {
      if (isConcerned(set)) this.#enqueue(set);
      if (meter.endsStep(placementSize(set))) yield;
    }
  }

  #ownerOfRevision(revision: Stored<ControllerRevision>): void {
    const owner = controllerOf(revision);
    if (owner?.kind === 'DaemonSet') this.loop.queue.add(`${revision.metadata.namespace}/${owner.name}`);
  }

  #addHandlers(): void {
    this.#sets.addHandler({
      onAdd: (set) => this.#enqueue(set),
      onUpdate: (old, set) => {
        if (old.metadata.uid !== set.metadata.uid) this.#forget(old);
        this.#enqueue(set);
      },
      onDelete: (set) => {
        this.#forget(set);
        this.#endedPods.collect();
        this.#enqueue(set);
      },
    });
    this.#revisions.addHandler({
      onUpdate: (_, revision) => this.#ownerOfRevision(revision),
      onDelete: (revision) => this.#ownerOfRevision(revision),
    });
    this.#nodes.addHandler({
      onAdd: (node) => this.#enqueueSetsOf(node),
      onUpdate: (old, node) => {
        if (concernsDaemons(old, node))
          this.#enqueueWhere((set) => !deepEqual(shouldRun(set, old), shouldRun(set, node)));
      },
      // Pods pending for the node are deleted; the pod garbage collector deletes those bound to it.
      onDelete: (node) => this.#enqueueSetsOf(node),
    });
    watchPods({
      platform: this.#platform,
      pods: this.#pods,
      owners: this.#sets,
      selectorOf: (set) => this.#selectorOf(set),
      expectations: this.#expectations,
      enqueue: (key) => this.loop.queue.add(key),
    });
  }
}
