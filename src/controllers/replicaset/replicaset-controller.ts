/**
 * Keeps the number of pods of ReplicaSets and ReplicationControllers. Upstream: pkg/controller/replicaset.
 *
 * Watches: its kind and pods. Writes alone: its kind's status, pods' owner references to it, and its pods' creation
 * and deletion. Invariant: it does nothing more until its own creations and deletions appear in the cache
 * (expectations).
 */
import { deepEqual } from '../../base/equal.ts';
import { Pods } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import { claimObjects } from '../controller-ref-manager.ts';
import { Expectations } from '../../component-helpers/expectations.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { createPodControl, podFromTemplate, podTurns, slowStartBatch, type PodControl } from '../pod-control.ts';
import { beginInTurns } from '../../base/begin-in-turns.ts';
import { isPodActive, isPodTerminal, podCondition } from '../../component-helpers/pods.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
  type KeyedLoop,
} from '../controller.ts';
import type { ReplicaFlavour, ReplicaOwner } from './flavours.ts';
import { EarlyFailures } from '../early-failures.ts';
import { planReplicas, type ReplicaPlan } from './plan.ts';
import { watchPods, PODS_BY_CONTROLLER, orphansOf } from '../pod-events.ts';
import { createPodTallies, type PodTally, type PodCounts, type TallyRules } from './pod-tally.ts';
import { calculateStatus } from './status.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Client, ResourceClient } from '../../client/client.ts';
import type { Informer } from '../../client/informer.ts';
import type { Tallies } from '../pod-tallies.ts';
import { selectedOf } from '../selecting-owners.ts';
import type { Histogram } from '../../platform/metrics.ts';

const WORKERS = 5;

/** Makes the controller of one of the two kinds. */
export function createReplicaController(deps: ControllerDeps, flavour: ReplicaFlavour): Controller {
  return new ReplicaController(deps, flavour).loop;
}

/** Upstream: ReplicaSetController. */
class ReplicaController {
  readonly #flavour: ReplicaFlavour;
  readonly #platform: ControllerDeps['platform'];
  readonly #clock: Clock;
  readonly #client: Client;
  readonly #owners: Informer<ReplicaOwner>;
  readonly #pods: Informer<Pod>;
  readonly #ownerClient: ResourceClient<ReplicaOwner>;
  readonly #podControl: PodControl;
  readonly #expectations: Expectations;
  readonly #earlyFailures = new EarlyFailures();
  readonly #tallies: Tallies<PodTally, TallyRules>;
  readonly #ageRatios: Histogram;
  readonly loop: KeyedLoop;

  constructor(deps: ControllerDeps, flavour: ReplicaFlavour) {
    this.#flavour = flavour;
    this.#platform = deps.platform;
    this.#clock = deps.platform.clock;
    this.#client = deps.clientFor(flavour.account);
    this.#owners = deps.informers.informer(flavour.info);
    this.#pods = deps.informers.informer(Pods);
    this.#ownerClient = this.#client.resource(flavour.info);
    this.#podControl = createPodControl(this.#client, deps.recorderFor(flavour.account));
    this.#expectations = new Expectations(this.#clock);
    this.#tallies = createPodTallies(this.#pods);
    this.#ageRatios = deps.platform.metrics.histogram({
      name: 'replicaset_controller_sorting_deletion_age_ratio',
      help: 'Age of each ready pod that is chosen for deletion over that of the youngest ready pod.',
      buckets: Array.from({ length: 6 }, (_, i) => 0.25 * 2 ** i),
    });
    this.loop = createKeyedLoop(deps, {
      name: flavour.name,
      queueName: flavour.queueName,
      workers: WORKERS,
      informers: informerList(this.#owners, this.#pods),
      sync: (key, signal) => this.#syncReplicaSet(key, signal),
    });
    this.#addHandlers();
  }

  /** Active pods of all owners with the same controller, such as the ReplicaSets of one Deployment. */
  #relatedPods(owner: Stored<ReplicaOwner>): Stored<Pod>[] {
    const controller = controllerOf(owner);
    const related =
      controller === undefined
        ? [owner]
        : this.#owners.list(owner.metadata.namespace).filter((other) => controllerOf(other)?.uid === controller.uid);
    return related.flatMap((other) => this.#pods.byIndex(PODS_BY_CONTROLLER, other.metadata.uid)).filter(isPodActive);
  }

  async #createPods(owner: Stored<ReplicaOwner>, key: string, count: number, signal: AbortSignal): Promise<unknown> {
    const pod = podFromTemplate(owner.spec?.template ?? {}, owner, this.#flavour.info);
    this.#expectations.expectCreations(key, count);
    const result = await slowStartBatch(
      count,
      async () => {
        try {
          await this.#podControl.create(owner, pod, signal);
        } catch (error) {
          // The namespace is terminating, and the owner with it: this is no failure.
          if (!isNamespaceTerminating(error)) throw error;
        }
      },
      this.#clock,
    );
    for (let missed = count - result.successes; missed > 0; missed--) this.#expectations.creationObserved(key);
    return result.error;
  }

  async #deletePods(
    owner: ReplicaOwner,
    key: string,
    victims: readonly Stored<Pod>[],
    signal: AbortSignal,
  ): Promise<unknown> {
    this.#expectations.expectDeletions(
      key,
      victims.map((pod) => pod.metadata.uid),
    );
    const failures: unknown[] = [];
    const remove = async (pod: Stored<Pod>): Promise<void> => {
      try {
        await this.#podControl.remove(owner, pod, signal);
      } catch (error) {
        this.#expectations.deletionObserved(key, pod.metadata.uid);
        if (!isReason(error, 'NotFound')) failures.push(error);
      }
    };
    await beginInTurns(victims, remove, podTurns(this.#clock));
    return failures[0];
  }

  async #manageReplicas(owner: Stored<ReplicaOwner>, plan: ReplicaPlan, signal: AbortSignal): Promise<unknown> {
    const key = keyOfObject(owner);
    if (plan.action === 'create') {
      const waitMs = this.#earlyFailures.waitMs(key, this.#clock.nowMs());
      if (waitMs === 0) return await this.#createPods(owner, key, plan.count, signal);
      this.loop.queue.addAfter(key, waitMs);
    }
    if (plan.action !== 'delete') return undefined;
    for (const ratio of plan.ageRatios) this.#ageRatios.observe(ratio);
    return await this.#deletePods(owner, key, plan.pods, signal);
  }

  async #writeStatus(
    owner: ReplicaOwner,
    input: { readonly counts: PodCounts; readonly failure: unknown },
    signal: AbortSignal,
  ): Promise<void> {
    const { countsTerminating } = this.#flavour;
    let current = owner;
    await retryOnConflict(
      this.#clock,
      async () => {
        const status = calculateStatus({ ...input, owner: current, countsTerminating, nowMs: this.#clock.nowMs() });
        // The synced generation is that of the object read at first, not of a later one.
        if (owner.metadata.generation !== undefined) status.observedGeneration = owner.metadata.generation;
        if (equalStatus(status, current.status)) return;
        try {
          await this.#ownerClient.updateStatus({ ...current, status }, { signal });
        } catch (error) {
          if (isReason(error, 'Conflict'))
            current = await this.#ownerClient.get(parseKey(keyOfObject(owner)), { signal });
          throw error;
        }
      },
      signal,
    );
  }

  async #syncReplicaSet(key: string, signal: AbortSignal): Promise<void> {
    const owner = this.#owners.get(parseKey(key));
    if (owner === undefined) return this.#expectations.forget(key);
    const needsSync = this.#expectations.satisfied(key);
    const tally = await this.#claimedPods(owner, signal);
    const counts = tally.counts(this.#clock.nowMs());
    let failure: unknown;
    if (needsSync && owner.metadata.deletionTimestamp === undefined) {
      const context = {
        pods: () => tally.active(),
        siblings: () => this.#relatedPods(owner),
        nowMs: this.#clock.nowMs(),
      };
      failure = await this.#manageReplicas(
        owner,
        planReplicas(owner.spec?.replicas ?? 1, counts.active, context),
        signal,
      );
    }
    await this.#writeStatus(owner, { counts, failure }, signal);
    if (failure !== undefined) throw failure;
    if (counts.nextAvailableMs !== undefined)
      this.loop.queue.addAfter(key, counts.nextAvailableMs - this.#clock.nowMs());
  }

  /** The owner's pods, after adoption and release where needed. */
  async #claimedPods(owner: Stored<ReplicaOwner>, signal: AbortSignal): Promise<PodTally> {
    const { namespace, deletionTimestamp } = owner.metadata;
    const rules: TallyRules = {
      selector: this.#flavour.selectorOf(owner),
      templateLabels: owner.spec?.template?.metadata?.labels,
      minReadySeconds: owner.spec?.minReadySeconds ?? 0,
    };
    const tally = this.#tallies.of(owner, rules);
    if (deletionTimestamp !== undefined) return tally;
    const pause = (): Promise<void> => this.#clock.yield();
    const active = this.#pods.byIndex(PODS_BY_CONTROLLER, orphansOf(namespace)).filter(isPodActive);
    const orphans = await selectedOf(active, rules.selector, pause);
    const toClaim = [...tally.toRelease(), ...orphans];
    if (toClaim.length === 0) return tally;
    const adopted = await claimObjects(
      { client: this.#client, owner, ownerInfo: this.#flavour.info, selector: rules.selector, signal, pause },
      { info: Pods, objects: toClaim },
    );
    this.#tallies.adopted(tally, adopted);
    return tally;
  }

  #forget(owner: Stored<ReplicaOwner>): void {
    this.#expectations.forget(keyOfObject(owner));
    this.#earlyFailures.forget(keyOfObject(owner));
    this.#tallies.forget(owner);
  }

  #addHandlers(): void {
    this.#owners.addHandler({
      onAdd: (owner) => this.loop.queue.add(keyOfObject(owner)),
      onUpdate: (old, owner) => {
        if (old.metadata.uid !== owner.metadata.uid) this.#forget(old);
        this.loop.queue.add(keyOfObject(owner));
      },
      onDelete: (owner) => {
        this.#forget(owner);
        this.loop.queue.add(keyOfObject(owner));
      },
    });
    watchPods({
      platform: this.#platform,
      pods: this.#pods,
      owners: this.#owners,
      selectorOf: this.#flavour.selectorOf,
      expectations: this.#expectations,
      enqueue: (key, pod, old) => {
        if (old !== undefined && countsSame(old, pod)) return;
        if (isPodTerminal(pod)) this.#earlyFailures.ended(key, pod, this.#clock.nowMs());
        this.loop.queue.add(key);
      },
    });
  }
}

/** Whether a sync would see no difference, as for most of a pod's updates until it is ready. */
function countsSame(old: Stored<Pod>, pod: Stored<Pod>): boolean {
  const [before, now] = [podCondition(old, 'Ready'), podCondition(pod, 'Ready')];
  return (
    old.metadata.uid === pod.metadata.uid &&
    isPodTerminal(old) === isPodTerminal(pod) &&
    old.metadata.deletionTimestamp === pod.metadata.deletionTimestamp &&
    before?.status === now?.status &&
    before?.lastTransitionTime === now?.lastTransitionTime &&
    deepEqual(old.metadata.labels, pod.metadata.labels)
  );
}
