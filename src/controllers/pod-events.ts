/**
 * Enqueues the owners that a pod's changes concern, and fulfils their expectations. Upstream: the pod handlers of
 * ReplicaSetController, DaemonSetsController, StatefulSetController, which are alike.
 */
import { deepEqual } from '../base/equal.ts';
import type { Pod } from '../api/gen/core-v1.ts';
import type { LabelMatcher } from '../api/label-selector.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { Informer } from '../client/informer.ts';
import { keyOfObject } from '../client/object-store.ts';
import type { Expectations } from '../component-helpers/expectations.ts';
import { controllerOf } from '../component-helpers/owner-references.ts';
import { type SelectingDeps, SelectingOwners } from './selecting-owners.ts';

/** Index of pods by their controller's uid; those without a controller are under {@link orphansOf} their namespace. */
export const PODS_BY_CONTROLLER = 'controller-uid';

/** The index value of a namespace's pods without controller. */
export function orphansOf(namespace: string): string {
  return `orphans/${namespace}`;
}

export interface PodEventDeps<T extends KubernetesObject> {
  readonly platform: SelectingDeps<T, Pod>['platform'];
  readonly pods: Informer<Pod>;
  readonly owners: Informer<T>;
  selectorOf(owner: T): LabelMatcher;
  /** Absent for controllers without expectations. */
  readonly expectations?: Expectations;
  /** `old` is absent for added and deleted pods. */
  enqueue(key: string, pod: Stored<Pod>, old?: Stored<Pod>): void;
}

/** Adds {@link PODS_BY_CONTROLLER}. */
export function indexPodsByController(pods: Informer<Pod>): void {
  pods.addIndex(PODS_BY_CONTROLLER, (pod) => [controllerOf(pod)?.uid ?? orphansOf(pod.metadata.namespace)]);
}

/** Attaches the handlers and the index. */
export function watchPods<T extends KubernetesObject>(deps: PodEventDeps<T>): void {
  const { pods, expectations, enqueue } = deps;
  indexPodsByController(pods);

  function ownerKey(pod: Stored<Pod>): string | undefined {
    const reference = controllerOf(pod);
    if (reference?.kind !== deps.owners.info.kind) return undefined;
    const owner = deps.owners.get({ namespace: pod.metadata.namespace, name: reference.name });
    return owner?.metadata.uid === reference.uid ? keyOfObject(owner) : undefined;
  }
  const { platform, owners } = deps;
  const selecting = new SelectingOwners<T, Pod>({
    platform,
    owners,
    selectorOf: (owner) => deps.selectorOf(owner),
    found: (key, pod) => enqueue(key, pod),
  });
  function onGone(pod: Stored<Pod>): void {
    const key = ownerKey(pod);
    if (key === undefined) return;
    expectations?.deletionObserved(key, pod.metadata.uid);
    enqueue(key, pod);
  }

  pods.addHandler({
    onAdd(pod) {
      // After a restart a pod may first be observed while it terminates.
      if (pod.metadata.deletionTimestamp !== undefined) return onGone(pod);
      if (controllerOf(pod) === undefined) return selecting.find(pod);
      const key = ownerKey(pod);
      if (key === undefined) return;
      expectations?.creationObserved(key);
      enqueue(key, pod);
    },
    onUpdate(old, pod) {
      if (pod.metadata.deletionTimestamp !== undefined) {
        onGone(pod);
        if (old.metadata.deletionTimestamp === undefined && !deepEqual(old.metadata.labels, pod.metadata.labels))
          onGone(old);
        return;
      }
      const moved = controllerOf(old)?.uid !== controllerOf(pod)?.uid;
      const oldKey = moved ? ownerKey(old) : undefined;
      if (oldKey !== undefined) enqueue(oldKey, old);
      if (controllerOf(pod) !== undefined) {
        const key = ownerKey(pod);
        if (key !== undefined) enqueue(key, pod, moved ? undefined : old);
      } else if (moved || !deepEqual(old.metadata.labels, pod.metadata.labels)) selecting.find(pod);
    },
    onDelete: onGone,
  });
}
