/**
 * Which changes of pods and nodes may make a rejected pod schedulable. Upstream: isSchedulableAfterPodChange,
 * isSchedulableAfterNodeChange.
 */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { TermReader } from './affinity-terms.ts';

/** What another pod's or a node's change means for a pending pod. */
interface Hints {
  /** The other pod matches all affinity terms. */
  attracts(pod: Stored<Pod>, other: Stored<Pod>): boolean;
  /** An anti-affinity term between the two pods does not apply any more. Without `now` the other pod was deleted. */
  frees(pod: Stored<Pod>, old: Stored<Pod>, now?: Stored<Pod>): boolean;
  /**
   * The other pod was the last match of a group that the pending pod belongs to: as the first of the group it may run
   * anywhere.
   */
  leaves(pod: Stored<Pod>, gone: Stored<Pod>): boolean;
  /** The node has the topology labels of all the pod's affinity terms. */
  canMeet(pod: Stored<Pod>, node: Stored<Node>): boolean;
  /** The node's topology labels changed: its old topology values have fewer matching pods now. */
  moves(pod: Stored<Pod>, old: Stored<Node>, now: Stored<Node>): boolean;
}

export function createHints(termsOf: TermReader): Hints {
  const attracts: Hints['attracts'] = (pod, other) => {
    const { affinity } = termsOf(pod);
    return affinity.length > 0 && affinity.every((term) => term.matches(other));
  };
  const isRepelled = (pod: Stored<Pod>, by: Stored<Pod>): boolean =>
    termsOf(by).antiAffinity.some((term) => term.matches(pod));
  return {
    attracts,
    frees: (pod, old, now) =>
      termsOf(pod).antiAffinity.some((term) => term.matches(old) && !(now !== undefined && term.matches(now))) ||
      (isRepelled(pod, old) && !(now !== undefined && isRepelled(pod, now))),
    leaves: (pod, gone) => attracts(pod, gone) && attracts(pod, pod),
    canMeet: (pod, { metadata }) =>
      termsOf(pod).affinity.every(({ topologyKey }) => metadata.labels?.[topologyKey] !== undefined),
    moves(pod, { metadata: old }, { metadata: now }) {
      const { affinity, antiAffinity } = termsOf(pod);
      return [...affinity, ...antiAffinity].some(({ topologyKey }) => {
        const before = old.labels?.[topologyKey];
        return before !== undefined && before !== now.labels?.[topologyKey];
      });
    },
  };
}
