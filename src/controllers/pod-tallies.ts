/**
 * Keeps a controller's counts of its owners' pods up to date with the informer's events, for each owner.
 *
 * Invariant: a tally has the owner's pods of the informer, and beyond them only adopted ones whose adoption the
 * informer has not delivered yet.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { Informer } from '../client/informer.ts';
import { controllerOf } from '../component-helpers/owner-references.ts';
import { PODS_BY_CONTROLLER } from './pod-events.ts';

/** The counts of one owner's pods. */
export interface Tally {
  /** Replaces the pod's contribution by its current state. */
  put(pod: Stored<Pod>): void;
  /** The pod was deleted, or belongs to another owner. */
  remove(uid: string): void;
}

export interface TallyKind<T extends Tally, R> {
  make(rules: R, pods: readonly Stored<Pod>[]): T;
  /** Whether the tally counts by these rules; otherwise it is rebuilt. */
  isBy(tally: T, rules: R): boolean;
}

/** The tallies of one kind of owners. */
export interface Tallies<T extends Tally, R> {
  /** The counts of the owner's pods by these rules, kept up to date from then on. */
  of(owner: Stored<KubernetesObject>, rules: R): T;
  /** These pods were adopted: they count before the informer delivers it. */
  adopted(tally: T, pods: readonly Stored<Pod>[]): void;
  all(): Iterable<T>;
  /** The owner was deleted. */
  forget(owner: Stored<KubernetesObject>): void;
}

/** Attaches the handler. The informer has {@link PODS_BY_CONTROLLER}. */
export function createTallies<T extends Tally, R>(pods: Informer<Pod>, kind: TallyKind<T, R>): Tallies<T, R> {
  const tallies = new Map<string, T>();
  /** By uid, the adopted pods whose adoption the informer has not reported yet. */
  const unreported = new Map<string, T>();
  const tallyOf = (pod: Stored<Pod>): T | undefined => tallies.get(controllerOf(pod)?.uid ?? '');
  const drop = (pod: Stored<Pod>): void => {
    const { uid } = pod.metadata;
    tallyOf(pod)?.remove(uid);
    unreported.get(uid)?.remove(uid);
    unreported.delete(uid);
  };

  pods.addHandler({
    onAdd: (pod) => tallyOf(pod)?.put(pod),
    onUpdate(old, pod) {
      drop(old);
      tallyOf(pod)?.put(pod);
    },
    // The deletion event has the last stored state, which was the last one put.
    onDelete: drop,
  });
  return {
    of(owner, rules) {
      const { uid } = owner.metadata;
      const cached = tallies.get(uid);
      if (cached !== undefined && kind.isBy(cached, rules)) return cached;
      const tally = kind.make(rules, pods.byIndex(PODS_BY_CONTROLLER, uid));
      tallies.set(uid, tally);
      return tally;
    },
    adopted(tally, claimed) {
      for (const { metadata } of claimed) {
        const { uid } = metadata;
        const now = pods.get({ namespace: metadata.namespace, name: metadata.name });
        // Otherwise the pod is gone, or the informer has delivered its adoption.
        if (now?.metadata.uid !== uid || controllerOf(now) !== undefined) continue;
        tally.put(now);
        unreported.set(uid, tally);
      }
    },
    all: () => tallies.values(),
    forget: (owner) => tallies.delete(owner.metadata.uid),
  };
}
