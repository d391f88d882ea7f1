/**
 * The pods of an owner, counted as they come, change and go: a sync looks at none of them. Upstream: FilterActivePods,
 * ClaimPods and calculateStatus count all of them at each sync; the numbers are the same.
 *
 * Invariant: what is told equals counting what the informer holds anew. So there is one way in, {@link PodTally.put}, by
 * which the pod's earlier part is replaced, and an owner that counts by other rules than before gets a new tally.
 */
import { deepEqual } from '../../base/equal.ts';
import { compileLabelMap, type LabelMatcher, type Labels } from '../../api/label-selector.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import { availableAtMs, isPodActive, isPodReady, isPodTerminating } from '../../component-helpers/pods.ts';
import { createTallies, type Tallies, type Tally } from '../pod-tallies.ts';

/** How many pods an owner has at one moment. All but `terminating` are of active pods that its selector matches. */
export interface PodCounts {
  readonly active: number;
  /** With all labels of the template. */
  readonly labeled: number;
  readonly ready: number;
  /** Ready for `minReadySeconds`. */
  readonly available: number;
  readonly terminating: number;
  /** When the next ready pod becomes available by time alone. */
  readonly nextAvailableMs?: number;
}

/** By what an owner counts. */
export interface TallyRules {
  readonly selector: LabelMatcher;
  readonly templateLabels: Labels;
  readonly minReadySeconds: number;
}

/** The pods of one owner, by uid. */
export class PodTally implements Tally {
  readonly rules: TallyRules;
  readonly #template: LabelMatcher;
  readonly #active = new Map<string, Stored<Pod>>();
  readonly #released = new Map<string, Stored<Pod>>();
  readonly #labeled = new Set<string>();
  readonly #ready = new Set<string>();
  readonly #terminating = new Set<string>();
  /** Since when ready pods are available, or will be; none while there is nothing to wait for. */
  readonly #availableAtMs = new Map<string, number>();

  constructor(rules: TallyRules, pods: readonly Stored<Pod>[]) {
    this.rules = rules;
    this.#template = compileLabelMap(rules.templateLabels);
    for (const pod of pods) this.put(pod);
  }

  /** Counts the pod as it is now. */
  put(pod: Stored<Pod>): void {
    const { uid, labels } = pod.metadata;
    this.remove(uid);
    if (isPodTerminating(pod)) this.#terminating.add(uid);
    if (!isPodActive(pod)) return;
    if (!this.rules.selector.matches(labels)) {
      this.#released.set(uid, pod);
      return;
    }
    this.#active.set(uid, pod);
    if (this.#template.matches(labels)) this.#labeled.add(uid);
    if (!isPodReady(pod)) return;
    this.#ready.add(uid);
    const atMs = availableAtMs(pod, this.rules.minReadySeconds);
    if (atMs !== -Infinity) this.#availableAtMs.set(uid, atMs);
  }

  /** The pod is gone, or another's. */
  remove(uid: string): void {
    this.#active.delete(uid);
    this.#released.delete(uid);
    this.#labeled.delete(uid);
    this.#ready.delete(uid);
    this.#terminating.delete(uid);
    this.#availableAtMs.delete(uid);
  }

  /** The numbers at `nowMs`. A wall clock may be set back: who was available then may be so no more. */
  counts(nowMs: number): PodCounts {
    let nextMs = Infinity;
    let waiting = 0;
    for (const atMs of this.#availableAtMs.values()) {
      if (atMs <= nowMs) continue;
      waiting++;
      nextMs = Math.min(nextMs, atMs);
    }
    return {
      active: this.#active.size,
      labeled: this.#labeled.size,
      ready: this.#ready.size,
      available: this.#ready.size - waiting,
      terminating: this.#terminating.size,
      nextAvailableMs: nextMs === Infinity ? undefined : nextMs,
    };
  }

  /** Active pods that the selector matches. */
  active(): Stored<Pod>[] {
    return [...this.#active.values()];
  }

  /** Active pods that the selector no longer matches. */
  toRelease(): Stored<Pod>[] {
    return [...this.#released.values()];
  }
}

/** The tallies of one kind of owners. The informer has the index of pods by their controllers. */
export function createPodTallies(pods: Informer<Pod>): Tallies<PodTally, TallyRules> {
  return createTallies(pods, {
    make: (rules: TallyRules, owned) => new PodTally(rules, owned),
    isBy: (tally: PodTally, rules) => sameRules(tally.rules, rules),
  });
}

function sameRules(known: TallyRules, rules: TallyRules): boolean {
  return (
    known.minReadySeconds === rules.minReadySeconds &&
    known.selector.toString() === rules.selector.toString() &&
    deepEqual(known.templateLabels, rules.templateLabels)
  );
}
