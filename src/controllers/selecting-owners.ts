/**
 * Finds the owners whose selectors match an object: a namespace may have any number of owners, each with thousands of
 * requirements, and an object that meets all of them. What is more than a few milliseconds' work continues in later
 * turns. Of an object that changes meanwhile the first labels and the newest ones are compared: a sync sees no others.
 */
import type { LabelMatcher } from '../api/label-selector.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import { stepByStep, StepMeter, type Steps } from '../base/steps.ts';
import type { Informer } from '../client/informer.ts';
import { keyOfObject } from '../client/object-store.ts';
import type { BasePlatform } from '../platform/platform.ts';
import { background } from '../platform/unexpected.ts';

/** Requirements that are compared in one turn. */
export const REQUIREMENTS_PER_TURN = 20_000;

export interface SelectingDeps<O extends KubernetesObject, T extends KubernetesObject> {
  readonly platform: Pick<BasePlatform, 'clock' | 'log'>;
  readonly owners: Informer<O>;
  /** Undefined: the owner selects nothing. */
  selectorOf(owner: O): LabelMatcher | undefined;
  /** Called for each owner that selects the object. */
  found(ownerKey: string, object: Stored<T>): void;
}

export class SelectingOwners<O extends KubernetesObject, T extends KubernetesObject> {
  readonly #deps: SelectingDeps<O, T>;
  /** By key, the states of an object that are still to be compared: the first one and the newest. */
  readonly #waiting = new Map<string, readonly Stored<T>[]>();
  #isBusy = false;

  constructor(deps: SelectingDeps<O, T>) {
    this.#deps = deps;
  }

  /** Finds the owners of these states of an object. */
  find(...states: readonly Stored<T>[]): void {
    for (const state of states) {
      const key = keyOfObject(state);
      const [first] = this.#waiting.get(key) ?? [];
      this.#waiting.set(key, first === undefined ? [state] : [first, state]);
    }
    if (this.#isBusy) return;
    const { clock, log } = this.#deps.platform;
    const left = stepByStep(this.#compareAll(), () => clock.yield());
    if (left instanceof Promise) background(log, 'selectors were not compared with all objects', left);
  }

  *#compareAll(): Steps<void> {
    this.#isBusy = true;
    const meter = new StepMeter(REQUIREMENTS_PER_TURN);
    try {
      // What is added during the iteration is visited as well.
      for (const [key, states] of this.#waiting) {
        this.#waiting.delete(key);
        for (const state of states) yield* this.#compare(state, meter);
      }
    } finally {
      this.#isBusy = false;
    }
  }

  *#compare(object: Stored<T>, meter: StepMeter): Steps<void> {
    const { namespace, labels } = object.metadata;
    for (const owner of this.#deps.owners.list(namespace)) {
      const selector = this.#deps.selectorOf(owner);
      if (selector?.matches(labels) === true) this.#deps.found(keyOfObject(owner), object);
      if (meter.endsStep(1 + (selector?.size ?? 0))) yield;
    }
  }
}

/** The objects that a selector matches; many are compared in turns. */
export async function selectedOf<T extends KubernetesObject>(
  objects: readonly Stored<T>[],
  selector: LabelMatcher,
  pause: () => Promise<void>,
): Promise<Stored<T>[]> {
  const meter = new StepMeter(REQUIREMENTS_PER_TURN);
  const selected: Stored<T>[] = [];
  for (const object of objects) {
    if (selector.matches(object.metadata.labels)) selected.push(object);
    if (meter.endsStep(1 + selector.size)) await pause();
  }
  return selected;
}
