/**
 * Keeps what a controller counts of its owners' pods up with what the informer tells, owner by owner.
 *
 * Invariant: a tally holds the pods that the informer holds of its owner, and beyond them only those that were adopted and
 * are not yet told of as such.
 */
import type { Pod } from '../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { Informer } from '../client/informer.ts';
import { controllerOf } from '../component-helpers/owner-references.ts';
import { PODS_BY_CONTROLLER } from './pod-events.ts';

/** What is counted of one owner's pods. */
export interface Tally {
  /** The pod has this state now. */
  put(pod: Stored<Pod>): void;
  /** The pod is gone, or another's. */
  remove(uid: string): void;
}

export interface TallyKind<T extends Tally, R> {
  make(rules: R, pods: readonly Stored<Pod>[]): T;
  /** Whether the tally counts by these rules; otherwise it is rebuilt. */
  isBy(tally: T, rules: R): boolean;
}

/** The tallies of one kind of owners. */
export interface Tallies<T extends Tally, R> {
  /** What the informer holds of the owner's pods, counted by these rules; kept up from then on. */
  of(owner: Stored<KubernetesObject>, rules: R): T;
  /** These pods now have the tally's owner: they count before the informer delivers it. */
  adopted(tally: T, pods: readonly Stored<Pod>[]): void;
  all(): Iterable<T>;
  /** The owner is gone. */
  forget(owner: Stored<KubernetesObject>): void;
}

/** Attaches the handler. The informer has {@link PODS_BY_CONTROLLER}. */
export function createTallies<T extends Tally, R>(pods: Informer<Pod>, kind: TallyKind<T, R>): Tallies<T, R> {
  const tallies = new Map<string, T>();
  /** By the uids of pods of which the informer has not told since they were adopted. */
  const untold = new Map<string, T>();
  const tallyOf = (pod: Stored<Pod>): T | undefined => tallies.get(controllerOf(pod)?.uid ?? '');
  const drop = (pod: Stored<Pod>): void => {
    const { uid } = pod.metadata;
    tallyOf(pod)?.remove(uid);
    untold.get(uid)?.remove(uid);
    untold.delete(uid);
  };

  pods.addHandler({
    onAdd: (pod) => tallyOf(pod)?.put(pod),
    onUpdate(old, pod) {
      drop(old);
      tallyOf(pod)?.put(pod);
    },
    // A deletion tells the state that was stored last, so the one put last.
    onDelete: drop,
  });
  return {
    of(owner, rules) {
      const { uid } = owner.metadata;
      const known = tallies.get(uid);
      if (known !== undefined && kind.isBy(known, rules)) return known;
      const tally = kind.make(rules, pods.byIndex(PODS_BY_CONTROLLER, uid));
      tallies.set(uid, tally);
      return tally;
    },
    adopted(tally, claimed) {
      for (const { metadata } of claimed) {
        const { uid } = metadata;
        const now = pods.get({ namespace: metadata.namespace, name: metadata.name });
        // Else it is gone, or told of already.
        if (now?.metadata.uid !== uid || controllerOf(now) !== undefined) continue;
        tally.put(now);
        untold.set(uid, tally);
      }
    },
    all: () => tallies.values(),
    forget: (owner) => tallies.delete(owner.metadata.uid),
  };
}
