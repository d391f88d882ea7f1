/**
 * Keeps the number of pods of ReplicaSets and ReplicationControllers. Upstream: pkg/controller/replicaset.
 *
 * Watches: its kind and pods. Writes alone: its kind's status, pods' owner references to it, and its pods' creation and
 * deletion. Invariant: between doing something and seeing it in the cache (expectations), it does nothing more.
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
import { createPodControl, podFromTemplate, slowStartBatch } from '../pod-control.ts';
import { isPodActive, isPodTerminal, podCondition } from '../../component-helpers/pods.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
} from '../controller.ts';
import type { ReplicaFlavour, ReplicaOwner } from './flavours.ts';
import { planReplicas, type ReplicaPlan } from './plan.ts';
import { watchPods, PODS_BY_CONTROLLER, orphansOf } from '../pod-events.ts';
import { createPodTallies, type PodTally, type PodCounts, type TallyRules } from './pod-tally.ts';
import { calculateStatus } from './status.ts';

const WORKERS = 5;

/** Makes the controller of one of the two kinds. */
export function createReplicaController(deps: ControllerDeps, flavour: ReplicaFlavour): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(flavour.account);
  const owners = deps.informers.informer(flavour.info);
  const pods = deps.informers.informer(Pods);
  const ownerClient = client.resource(flavour.info);
  const podControl = createPodControl(client, deps.recorderFor(flavour.account));
  const expectations = new Expectations(clock);
  const tallies = createPodTallies(pods);
  const ageRatios = deps.platform.metrics.histogram({
    name: 'replicaset_controller_sorting_deletion_age_ratio',
    help: 'Age of each ready pod that is chosen for deletion over that of the youngest ready pod.',
    buckets: Array.from({ length: 6 }, (_, i) => 0.25 * 2 ** i),
  });

  /** Active pods of all owners with the same controller: siblings by a Deployment. */
  function relatedPods(owner: Stored<ReplicaOwner>): Stored<Pod>[] {
    const controller = controllerOf(owner);
    const related =
      controller === undefined
        ? [owner]
        : owners.list(owner.metadata.namespace).filter((other) => controllerOf(other)?.uid === controller.uid);
    return related.flatMap((other) => pods.byIndex(PODS_BY_CONTROLLER, other.metadata.uid)).filter(isPodActive);
  }

  async function createPods(
    owner: Stored<ReplicaOwner>,
    key: string,
    work: { readonly count: number; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const { count, signal } = work;
    const pod = podFromTemplate(owner.spec?.template ?? {}, owner, flavour.info);
    expectations.expectCreations(key, count);
    const result = await slowStartBatch(count, async () => {
      try {
        await podControl.create(owner, pod, signal);
      } catch (error) {
        // The namespace is going away and the owner with it: as good as created.
        if (!isNamespaceTerminating(error)) throw error;
      }
    });
    for (let missed = count - result.successes; missed > 0; missed--) expectations.creationObserved(key);
    return result.error;
  }

  async function deletePods(
    owner: ReplicaOwner,
    key: string,
    work: { readonly victims: readonly Stored<Pod>[]; readonly signal: AbortSignal },
  ): Promise<unknown> {
    const { victims, signal } = work;
    expectations.expectDeletions(
      key,
      victims.map((pod) => pod.metadata.uid),
    );
    const failures: unknown[] = [];
    await Promise.all(
      victims.map(async (pod) => {
        try {
          await podControl.remove(owner, pod, signal);
        } catch (error) {
          expectations.deletionObserved(key, pod.metadata.uid);
          if (!isReason(error, 'NotFound')) failures.push(error);
        }
      }),
    );
    return failures[0];
  }

  async function manageReplicas(owner: Stored<ReplicaOwner>, plan: ReplicaPlan, signal: AbortSignal): Promise<unknown> {
    const key = keyOfObject(owner);
    if (plan.action === 'create') return await createPods(owner, key, { count: plan.count, signal });
    if (plan.action !== 'delete') return undefined;
    for (const ratio of plan.ageRatios) ageRatios.observe(ratio);
    return await deletePods(owner, key, { victims: plan.pods, signal });
  }

  async function writeStatus(
    owner: ReplicaOwner,
    input: { readonly counts: PodCounts; readonly failure: unknown },
    signal: AbortSignal,
  ): Promise<void> {
    const { countsTerminating } = flavour;
    let current = owner;
    await retryOnConflict(
      clock,
      async () => {
        const status = calculateStatus({ ...input, owner: current, countsTerminating, nowMs: clock.nowMs() });
        // The generation synced is the one read at first, not one that came meanwhile.
        if (owner.metadata.generation !== undefined) status.observedGeneration = owner.metadata.generation;
        if (equalStatus(status, current.status)) return;
        try {
          await ownerClient.updateStatus({ ...current, status }, { signal });
        } catch (error) {
          if (isReason(error, 'Conflict')) current = await ownerClient.get(parseKey(keyOfObject(owner)), { signal });
          throw error;
        }
      },
      signal,
    );
  }

  const loop = createKeyedLoop(deps, {
    name: flavour.name,
    queueName: flavour.queueName,
    workers: WORKERS,
    informers: informerList(owners, pods),
    sync: syncReplicaSet,
  });

  async function syncReplicaSet(key: string, signal: AbortSignal): Promise<void> {
    const owner = owners.get(parseKey(key));
    if (owner === undefined) return expectations.forget(key);
    const needsSync = expectations.satisfied(key);
    const tally = await claimedPods(owner, signal);
    const counts = tally.counts(clock.nowMs());
    let failure: unknown;
    if (needsSync && owner.metadata.deletionTimestamp === undefined) {
      const context = { pods: () => tally.active(), siblings: () => relatedPods(owner), nowMs: clock.nowMs() };
      failure = await manageReplicas(owner, planReplicas(owner.spec?.replicas ?? 1, counts.active, context), signal);
    }
    await writeStatus(owner, { counts, failure }, signal);
    if (failure !== undefined) throw failure;
    if (counts.nextAvailableMs !== undefined) loop.queue.addAfter(key, counts.nextAvailableMs - clock.nowMs());
  }

  /** The owner's pods; where some have to be adopted or released, as they are after that. */
  async function claimedPods(owner: Stored<ReplicaOwner>, signal: AbortSignal): Promise<PodTally> {
    const { namespace, deletionTimestamp } = owner.metadata;
    const rules: TallyRules = {
      selector: flavour.selectorOf(owner),
      templateLabels: owner.spec?.template?.metadata?.labels,
      minReadySeconds: owner.spec?.minReadySeconds ?? 0,
    };
    const tally = tallies.of(owner, rules);
    if (deletionTimestamp !== undefined) return tally;
    const orphans = pods
      .byIndex(PODS_BY_CONTROLLER, orphansOf(namespace))
      .filter((pod) => isPodActive(pod) && rules.selector.matches(pod.metadata.labels));
    const toClaim = [...tally.toRelease(), ...orphans];
    if (toClaim.length === 0) return tally;
    const adopted = await claimObjects(
      { client, owner, ownerInfo: flavour.info, selector: rules.selector, signal },
      { info: Pods, objects: toClaim },
    );
    tallies.adopted(tally, adopted);
    return tally;
  }

  function forget(owner: Stored<ReplicaOwner>): void {
    expectations.forget(keyOfObject(owner));
    tallies.forget(owner);
  }
  owners.addHandler({
    onAdd: (owner) => loop.queue.add(keyOfObject(owner)),
    onUpdate(old, owner) {
      if (old.metadata.uid !== owner.metadata.uid) forget(old);
      loop.queue.add(keyOfObject(owner));
    },
    onDelete(owner) {
      forget(owner);
      loop.queue.add(keyOfObject(owner));
    },
  });
  watchPods({
    pods,
    owners,
    selectorOf: flavour.selectorOf,
    expectations,
    enqueue(key, pod, old) {
      if (old === undefined || !countsSame(old, pod)) loop.queue.add(key);
    },
  });
  return loop;
}

/** Whether a sync would see no difference: of a pod's updates until it is ready most are such. */
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
