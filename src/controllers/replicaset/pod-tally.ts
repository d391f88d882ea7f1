/**
 * The counts of an owner's pods, updated with each change: a sync walks over no pods. Upstream: FilterActivePods,
 * ClaimPods and calculateStatus count all of them at each sync; the results are the same.
 *
 * Invariant: the counts equal those of a walk over the informer's pods. So {@link PodTally.put} is the only way in,
 * and replaces the pod's earlier contribution; an owner whose rules changed gets a new tally.
 */
import { deepEqual } from '../../base/equal.ts';
import { compileLabelMap, type LabelMatcher, type Labels } from '../../api/label-selector.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Informer } from '../../client/informer.ts';
import { availableAtMs, isPodActive, isPodReady, isPodTerminating } from '../../component-helpers/pods.ts';
import { createTallies, type Tallies, type Tally } from '../pod-tallies.ts';

/** The numbers of an owner's pods at one moment. All but `terminating` count active pods that its selector matches. */
export interface PodCounts {
  readonly active: number;
  /** Pods with all labels of the template. */
  readonly labeled: number;
  readonly ready: number;
  /** Pods that are ready for `minReadySeconds`. */
  readonly available: number;
  readonly terminating: number;
  /** When the next ready pod becomes available without further events. */
  readonly nextAvailableMs?: number;
}

/** What the counts of an owner depend on. */
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
  /** When ready pods became or become available; empty when minReadySeconds is 0. */
  readonly #availableAtMs = new Map<string, number>();

  constructor(rules: TallyRules, pods: readonly Stored<Pod>[]) {
    this.rules = rules;
    this.#template = compileLabelMap(rules.templateLabels);
    for (const pod of pods) this.put(pod);
  }

  /** Counts the pod in its current state. */
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

  /** The pod was deleted, or belongs to another owner. */
  remove(uid: string): void {
    this.#active.delete(uid);
    this.#released.delete(uid);
    this.#labeled.delete(uid);
    this.#ready.delete(uid);
    this.#terminating.delete(uid);
    this.#availableAtMs.delete(uid);
  }

  /** The counts at `nowMs`. A wall clock may be set back, so a pod that was available may be unavailable again. */
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

function sameRules(before: TallyRules, now: TallyRules): boolean {
  return (
    before.minReadySeconds === now.minReadySeconds &&
    before.selector.toString() === now.selector.toString() &&
    deepEqual(before.templateLabels, now.templateLabels)
  );
}
