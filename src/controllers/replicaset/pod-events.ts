/** Which owners a pod's changes concern, and the expectations they fulfil. Upstream: ReplicaSetController's pod handlers. */
import { deepEqual } from '../../base/equal.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Informer } from '../../client/informer.ts';
import { keyOfObject } from '../../client/object-store.ts';
import type { Expectations } from '../../component-helpers/expectations.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import type { ReplicaFlavour, ReplicaOwner } from './flavours.ts';

/** Index of pods by their controller's uid; those without one under {@link orphansOf} their namespace. */
export const PODS_BY_CONTROLLER = 'controller-uid';

/** The index value of a namespace's pods without controller. */
export function orphansOf(namespace: string): string {
  return `orphans/${namespace}`;
}

/** Who listens. */
export interface PodEventDeps {
  readonly pods: Informer<Pod>;
  readonly owners: Informer<ReplicaOwner>;
  readonly flavour: ReplicaFlavour;
  readonly expectations: Expectations;
  enqueue(key: string): void;
}

/** Attaches the handlers and the index. */
export function watchPods(deps: PodEventDeps): void {
  const { pods, expectations, enqueue } = deps;
  pods.addIndex(PODS_BY_CONTROLLER, (pod) => [controllerOf(pod)?.uid ?? orphansOf(pod.metadata.namespace ?? '')]);

  function ownerKey(pod: Pod): string | undefined {
    const reference = controllerOf(pod);
    if (reference?.kind !== deps.flavour.info.kind) return undefined;
    const owner = deps.owners.get({ namespace: pod.metadata.namespace ?? '', name: reference.name });
    return owner?.metadata.uid === reference.uid ? keyOfObject(owner) : undefined;
  }
  function enqueueMatching(pod: Pod): void {
    for (const owner of deps.owners.list(pod.metadata.namespace)) {
      if (deps.flavour.selectorOf(owner).matches(pod.metadata.labels)) enqueue(keyOfObject(owner));
    }
  }
  function onGone(pod: Pod): void {
    const key = ownerKey(pod);
    if (key === undefined) return;
    expectations.deletionObserved(key, pod.metadata.uid ?? '');
    enqueue(key);
  }

  pods.addHandler({
    onAdd(pod) {
      // After a restart a pod may first be seen while it terminates.
      if (pod.metadata.deletionTimestamp !== undefined) return onGone(pod);
      if (controllerOf(pod) === undefined) return enqueueMatching(pod);
      const key = ownerKey(pod);
      if (key === undefined) return;
      expectations.creationObserved(key);
      enqueue(key);
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
      if (oldKey !== undefined) enqueue(oldKey);
      if (controllerOf(pod) !== undefined) {
        const key = ownerKey(pod);
        if (key !== undefined) enqueue(key);
      } else if (moved || !deepEqual(old.metadata.labels, pod.metadata.labels)) enqueueMatching(pod);
    },
    onDelete: onGone,
  });
}
