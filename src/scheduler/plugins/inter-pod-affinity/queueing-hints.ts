/** Which changes of pods and nodes may make a rejected pod schedulable. Upstream: isSchedulableAfterPodChange, isSchedulableAfterNodeChange. */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import type { TermReader } from './affinity-terms.ts';

/** What a change of another pod may mean to a waiting one. */
interface Hints {
  /** The other meets all affinity terms: only such pods count. */
  attracts(pod: Stored<Pod>, other: Stored<Pod>): boolean;
  /** A term of anti-affinity between the two holds no longer, be it because the other is gone (no `now`). */
  frees(pod: Stored<Pod>, old: Stored<Pod>, now?: Stored<Pod>): boolean;
  /** With the last of its group the pod, which belongs to it, becomes the first: it may go anywhere. */
  leaves(pod: Stored<Pod>, gone: Stored<Pod>): boolean;
  /** The node is of all the topologies in which the pod wants company. */
  canMeet(pod: Stored<Pod>, node: Stored<Node>): boolean;
  /** The node, with the pods on it, left a topology that the pod's terms speak of: others of it may be free, or a group without its first. */
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
