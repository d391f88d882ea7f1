/**
 * Keeps the pods of StatefulSets, with their ordinals and claims. Upstream: pkg/controller/statefulset.
 *
 * Watches: StatefulSets, their ControllerRevisions, pods, claims. Writes alone: StatefulSet status, its revisions,
 * its pods' creation and deletion, the claims made from its templates and those claims' owner references.
 */
import { ControllerRevisions, PersistentVolumeClaims, Pods, StatefulSets } from '../../api/gen/resources.ts';
import { compileLabelSelector } from '../../api/label-selector.ts';
import { isReason } from '../../api/status-error.ts';
import type { StatefulSet, ControllerRevision } from '../../api/gen/apps-v1.ts';
import type { Pod, PersistentVolumeClaim } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { retryOnConflict } from '../../client/retry-on-conflict.ts';
import { equalStatus } from '../../component-helpers/wire-equality.ts';
import { replacementWaitMs } from '../early-failures.ts';
import { claimObjects } from '../controller-ref-manager.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps, type KeyedLoop } from '../controller.ts';
import { templateOf } from '../controller-history.ts';
import { slowStartBatch } from '../pod-control.ts';
import { orphansOf, PODS_BY_CONTROLLER, watchPods } from '../pod-events.ts';
import { cleanUpHistory, resolveRevisions, type HistoryInput, type StatefulHistory } from './history.ts';
import { allowsBurst, isMember, newPod } from './identity.ts';
import { planStatefulSet, type StatefulPlan, type StatefulView } from './plan.ts';
import { createStatefulPodControl, type StatefulPodControl } from './stateful-pod-control.ts';
import { calculateStatus } from './status.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Informer } from '../../client/informer.ts';

const NAME = 'statefulset-controller';
const WORKERS = 5;

export function createStatefulSetController(deps: ControllerDeps): Controller {
  return new StatefulSetController(deps).loop;
}

/** Upstream: statefulset.StatefulSetController. */
class StatefulSetController {
  readonly #clock: Clock;
  readonly #client: Client;
  readonly #recorder: EventRecorder;
  readonly #sets: Informer<StatefulSet>;
  readonly #revisions: Informer<ControllerRevision>;
  readonly #pods: Informer<Pod>;
  readonly #claims: Informer<PersistentVolumeClaim>;
  readonly loop: KeyedLoop;

  constructor(deps: ControllerDeps) {
    this.#clock = deps.platform.clock;
    this.#client = deps.clientFor(NAME);
    this.#recorder = deps.recorderFor(NAME);
    this.#sets = deps.informers.informer(StatefulSets);
    this.#revisions = deps.informers.informer(ControllerRevisions);
    this.#pods = deps.informers.informer(Pods);
    this.#claims = deps.informers.informer(PersistentVolumeClaims);
    this.loop = createKeyedLoop(deps, {
      name: NAME,
      queueName: 'statefulset',
      workers: WORKERS,
      informers: informerList(this.#sets, this.#revisions, this.#pods, this.#claims),
      sync: (key, signal) => this.#syncStatefulSet(key, signal),
    });
    this.#sets.addHandler({
      onAdd: (set) => this.#enqueue(set),
      onUpdate: (_, set) => this.#enqueue(set),
    });
    watchPods({
      platform: deps.platform,
      pods: this.#pods,
      owners: this.#sets,
      selectorOf: (set) => this.#selectorOf(set),
      enqueue: (key) => this.loop.queue.add(key),
    });
  }

  #selectorOf(set: StatefulSet) {
    return compileLabelSelector(set.spec?.selector);
  }

  async #syncStatefulSet(key: string, signal: AbortSignal): Promise<void> {
    const set = this.#sets.get(parseKey(key));
    if (set === undefined) return;
    const { uid, namespace } = set.metadata;
    const candidates = [
      ...this.#pods.byIndex(PODS_BY_CONTROLLER, uid),
      ...this.#pods.byIndex(PODS_BY_CONTROLLER, orphansOf(namespace)),
    ];
    const claim = {
      client: this.#client,
      owner: set,
      ownerInfo: StatefulSets,
      selector: this.#selectorOf(set),
      signal,
      pause: () => this.#clock.yield(),
    };
    const owned = await claimObjects(claim, { info: Pods, objects: candidates.filter((pod) => isMember(set, pod)) });
    const input: HistoryInput = {
      client: this.#client,
      set,
      signal,
      pause: claim.pause,
      revisions: await claimObjects(claim, { info: ControllerRevisions, objects: this.#revisions.list(namespace) }),
    };
    const history = await resolveRevisions(input);
    const view: StatefulView = {
      set,
      pods: owned,
      currentRevision: history.current.metadata.name,
      updateRevision: history.update.metadata.name,
      nowMs: this.#clock.nowMs(),
    };
    let failure: unknown;
    if (set.metadata.deletionTimestamp === undefined) {
      const control = createStatefulPodControl({
        client: this.#client,
        recorder: this.#recorder,
        claims: this.#claims,
        signal,
      });
      failure = await this.#apply({ view, history, control }, planStatefulSet(view)).catch((error: unknown) => error);
    }
    await this.#writeStatus(view, history, signal);
    if (failure !== undefined) throw failure;
    await cleanUpHistory(input, history, owned);
  }

  async #apply(
    {
      view,
      history,
      control,
    }: { readonly view: StatefulView; readonly history: StatefulHistory; readonly control: StatefulPodControl },
    plan: StatefulPlan,
  ): Promise<void> {
    const { set } = view;
    for (const pod of plan.recreate) {
      const waitMs = replacementWaitMs(pod, view.nowMs);
      if (waitMs === 0) await control.remove(set, pod);
      else this.loop.queue.addAfter(keyOfObject(set), waitMs);
    }
    for (const pod of plan.keep) await control.repair(set, pod);
    const created = await slowStartBatch(
      plan.create.length,
      async (index) => {
        const { ordinal, revision } = plan.create[index] as StatefulPlan['create'][number];
        const source = revision === view.currentRevision ? history.current : history.update;
        const made = await control.create(set, newPod(set, ordinal, { name: revision, template: templateOf(source) }));
        // The claim is deleted with its old pod, which causes no event here: retry later.
        if (!made) this.loop.queue.addRateLimited(keyOfObject(set));
      },
      this.#clock,
    );
    if (created.error !== undefined) throw created.error;
    for (const pod of plan.condemned) await control.retainClaims(set, pod);
    await this.#removePods(plan.remove, allowsBurst(set), (pod) => control.remove(set, pod));
  }

  async #removePods(
    pods: readonly Stored<Pod>[],
    together: boolean,
    remove: (pod: Stored<Pod>) => Promise<void>,
  ): Promise<void> {
    if (!together) {
      for (const pod of pods) await remove(pod);
      return;
    }
    const { error } = await slowStartBatch(pods.length, (index) => remove(pods[index]!), this.#clock);
    if (error !== undefined) throw error;
  }

  async #writeStatus(view: StatefulView, history: StatefulHistory, signal: AbortSignal): Promise<void> {
    const status = calculateStatus(view, history.collisionCount);
    let current = view.set;
    await retryOnConflict(
      this.#clock,
      async () => {
        if (current.metadata.uid !== view.set.metadata.uid || equalStatus(status, current.status)) return;
        try {
          await this.#client.resource(StatefulSets).updateStatus({ ...current, status }, { signal });
        } catch (error) {
          if (isReason(error, 'NotFound')) return;
          if (isReason(error, 'Conflict'))
            current = await this.#client.resource(StatefulSets).get(parseKey(keyOfObject(current)), { signal });
          throw error;
        }
      },
      signal,
    );
    const minReadySeconds = view.set.spec?.minReadySeconds ?? 0;
    if (minReadySeconds > 0 && status.availableReplicas !== status.readyReplicas)
      this.loop.queue.addAfter(keyOfObject(view.set), minReadySeconds * 1000);
  }

  #enqueue(set: StatefulSet): void {
    this.loop.queue.add(keyOfObject(set));
  }
}
