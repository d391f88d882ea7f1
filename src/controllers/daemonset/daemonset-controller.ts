/**
 * Keeps one pod of each DaemonSet on every node it is for. Upstream: pkg/controller/daemon.
 *
 * Watches: DaemonSets, their ControllerRevisions, pods, nodes. Writes alone: DaemonSet status, its revisions, its pods'
 * creation and deletion, owner references to it. Pods are bound by the scheduler: they name their node by affinity.
 */
import { KeyedBackoff } from '../../base/backoff.ts';
import { deepEqual } from '../../base/equal.ts';
import { ControllerRevisions, DaemonSets, Nodes, Pods } from '../../api/gen/resources.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { isReason } from '../../api/status-error.ts';
import type { ControllerRevision, DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Node } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import { Expectations } from '../../component-helpers/expectations.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import { claimObjects, type ClaimConfig } from '../controller-ref-manager.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
  type ControllerDeps,
} from '../controller.ts';
import { createPodControl, slowStartBatch } from '../pod-control.ts';
import { orphansOf, PODS_BY_CONTROLLER, watchPods } from '../pod-events.ts';
import { daemonPod, shouldRun } from './daemon-sets.ts';
import { createDaemonTallies, type DaemonTally } from './daemon-tally.ts';
import { cleanUpHistory, constructHistory, hashOf, type HistoryInput } from './history.ts';
import type { Moment } from './node-view.ts';
import type { DaemonPlan } from './plan.ts';
import type { RollingStep } from './rolling-update.ts';
import { calculateStatus } from './status.ts';

const ACCOUNT = 'daemon-set-controller';
const RECORDER = 'daemonset-controller';
const WORKERS = 2;
const BURST_REPLICAS = 250;
const FAILED_BACKOFF = { initialMs: 1000, maxMs: 15 * 60_000 };

export function createDaemonSetController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const client = deps.clientFor(ACCOUNT);
  const recorder = deps.recorderFor(RECORDER);
  const sets = deps.informers.informer(DaemonSets);
  const revisions = deps.informers.informer(ControllerRevisions);
  const pods = deps.informers.informer(Pods);
  const nodes = deps.informers.informer(Nodes);
  const podControl = createPodControl(client, recorder);
  const expectations = new Expectations(clock);
  const failed = new KeyedBackoff(FAILED_BACKOFF);
  const tallies = createDaemonTallies(pods, nodes);
  const selectorOf = (set: Stored<DaemonSet>) => compileLabelSelector(set.spec?.selector);

  const loop = createKeyedLoop(deps, {
    name: 'daemonset-controller',
    queueName: 'daemonset',
    workers: WORKERS,
    informers: informerList(sets, revisions, pods, nodes),
    sync: syncDaemonSet,
  });

  async function syncDaemonSet(key: string, signal: AbortSignal): Promise<void> {
    const set = sets.get(parseKey(key));
    if (set === undefined) return expectations.forget(key);
    if (selectorOf(set).isEverything) {
      recorder.event(
        set,
        'Warning',
        'SelectingAll',
        'This daemon set is selecting all pods. A non-empty selector is required.',
      );
      return;
    }
    if (set.metadata.deletionTimestamp !== undefined) return;
    const claim = { client, owner: set, ownerInfo: DaemonSets, selector: selectorOf(set), signal };
    const tally = await claimedPods(set, claim);
    const kept = revisions.list(set.metadata.namespace);
    const history: HistoryInput = {
      client,
      set,
      pods: () => tally.pods(),
      signal,
      revisions: await claimObjects(claim, { info: ControllerRevisions, objects: kept }),
    };
    const { current, old } = await constructHistory(history);
    const hash = hashOf(current);
    const moment = (): Moment => ({ set, hash, nowMs: clock.nowMs() });
    if (!expectations.satisfied(key)) return await writeStatus(moment(), { tally, observe: false }, signal);
    tally.look(moment());
    let failure = await apply(moment(), remedies(set, tally.plan()), signal);
    if (failure === undefined && expectations.satisfied(key)) {
      tally.look(moment());
      if (set.spec?.updateStrategy?.type === 'RollingUpdate')
        failure = await apply(moment(), tally.rollingStep(), signal);
      await cleanUpHistory(history, old);
    }
    await writeStatus(moment(), { tally, observe: true }, signal);
    if (failure !== undefined) throw failure;
  }

  /** The set's pods; where some have to be adopted or released, as they are after that. */
  async function claimedPods(set: Stored<DaemonSet>, claim: ClaimConfig): Promise<DaemonTally> {
    const { namespace } = set.metadata;
    const tally = tallies.of(set, selectorOf(set));
    const orphans = pods
      .byIndex(PODS_BY_CONTROLLER, orphansOf(namespace))
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined && tally.selector.matches(metadata.labels));
    const toClaim = [...tally.toRelease(), ...orphans];
    if (toClaim.length === 0) return tally;
    tallies.adopted(tally, await claimObjects(claim, { info: Pods, objects: toClaim }));
    return tally;
  }

  /** What must be, without the update: failed pods go after a back-off, so that a crashing daemon does not loop. */
  function remedies(set: Stored<DaemonSet>, plan: DaemonPlan): RollingStep {
    const key = keyOfObject(set);
    const remove = [...plan.remove];
    for (const { pod, nodeName } of plan.failed) {
      const backoffKey = `${set.metadata.uid}/${nodeName}`;
      if (failed.isInBackoffSinceUpdate(backoffKey, clock.monotonicMs())) {
        loop.queue.addAfter(key, failed.getMs(backoffKey));
        continue;
      }
      failed.next(backoffKey, clock.monotonicMs());
      const message = `Found failed daemon pod ${keyOfObject(pod)} on node ${nodeName}, will try to kill it`;
      recorder.event(set, 'Warning', 'FailedDaemonPod', message);
      remove.push(pod);
    }
    for (const { pod, nodeName } of plan.succeeded) {
      const message = `Found succeeded daemon pod ${keyOfObject(pod)} on node ${nodeName}, will try to delete it`;
      recorder.event(set, 'Normal', 'SucceededDaemonPod', message);
      remove.push(pod);
    }
    return { create: plan.create, remove };
  }

  /** Creates and deletes; the first failure is returned, since the status is still to be written. */
  async function apply({ set, hash }: Moment, step: RollingStep, signal: AbortSignal): Promise<unknown> {
    if (step.create.length === 0 && step.remove.length === 0) return undefined;
    const key = keyOfObject(set);
    const create = step.create.slice(0, BURST_REPLICAS);
    const remove = step.remove.slice(0, BURST_REPLICAS);
    expectations.expect(
      key,
      create.length,
      remove.map((pod) => pod.metadata.uid),
    );
    const created = await slowStartBatch(create.length, async (index) => {
      try {
        await podControl.create(set, daemonPod(set, hash, create[index] ?? ''), signal);
      } catch (error) {
        // The namespace is going away and the set with it: as good as created.
        if (!isNamespaceTerminating(error)) throw error;
        expectations.creationObserved(key);
      }
    });
    for (let missed = create.length - created.successes; missed > 0; missed--) expectations.creationObserved(key);
    let failure = created.error;
    for (const pod of remove) {
      try {
        await podControl.remove(set, pod, signal);
      } catch (error) {
        expectations.deletionObserved(key, pod.metadata.uid);
        if (!isReason(error, 'NotFound')) failure ??= error;
      }
    }
    return failure;
  }

  async function writeStatus(
    moment: Moment,
    { tally, observe }: { readonly tally: DaemonTally; readonly observe: boolean },
    signal: AbortSignal,
  ): Promise<void> {
    const { set } = moment;
    const { metadata } = set;
    let current = set;
    tally.look(moment);
    const status = calculateStatus(set, tally.counts());
    if (observe && metadata.generation !== undefined) status.observedGeneration = metadata.generation;
    await retryOnConflict(
      clock,
      async () => {
        if (current.metadata.uid !== metadata.uid || equalStatus(status, current.status)) return;
        try {
          await client.resource(DaemonSets).updateStatus({ ...current, status }, { signal });
        } catch (error) {
          if (isReason(error, 'Conflict'))
            current = await client.resource(DaemonSets).get(parseKey(keyOfObject(set)), { signal });
          throw error;
        }
      },
      signal,
    );
    const minReadySeconds = set.spec?.minReadySeconds ?? 0;
    if (minReadySeconds > 0 && status.numberReady !== status.numberAvailable)
      loop.queue.addAfter(keyOfObject(set), minReadySeconds * 1000);
  }

  function forget(set: Stored<DaemonSet>): void {
    expectations.forget(keyOfObject(set));
    tallies.forget(set);
  }
  const enqueue = (set: Stored<DaemonSet>): void => loop.queue.add(keyOfObject(set));
  sets.addHandler({
    onAdd: enqueue,
    onUpdate(old, set) {
      if (old.metadata.uid !== set.metadata.uid) forget(old);
      enqueue(set);
    },
    onDelete(set) {
      forget(set);
      failed.collect(clock.monotonicMs());
      enqueue(set);
    },
  });
  const ownerOfRevision = (revision: Stored<ControllerRevision>): void => {
    const owner = controllerOf(revision);
    if (owner?.kind === 'DaemonSet') loop.queue.add(`${revision.metadata.namespace}/${owner.name}`);
  };
  revisions.addHandler({ onUpdate: (_, revision) => ownerOfRevision(revision), onDelete: ownerOfRevision });
  nodes.addHandler({
    onAdd: (node) =>
      sets
        .list()
        .filter((set) => shouldRun(set, node).run)
        .forEach(enqueue),
    onUpdate(old, node) {
      if (concernsDaemons(old, node))
        sets
          .list()
          .filter((set) => !deepEqual(shouldRun(set, old), shouldRun(set, node)))
          .forEach(enqueue);
    },
    // Pods waiting for the node must go; those bound to it are the pod garbage collector's.
    onDelete: (node) =>
      sets
        .list()
        .filter((set) => shouldRun(set, node).run)
        .forEach(enqueue),
  });
  watchPods({ pods, owners: sets, selectorOf, expectations, enqueue: (key) => loop.queue.add(key) });
  return loop;
}

function concernsDaemons(old: Node, node: Node): boolean {
  return !deepEqual(old.metadata.labels, node.metadata.labels) || !deepEqual(old.spec?.taints, node.spec?.taints);
}
