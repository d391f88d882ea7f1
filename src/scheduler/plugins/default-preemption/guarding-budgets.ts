/** Which disruption budgets guard a pod. Upstream: filterPodsWithPDBViolation of plugins/defaultpreemption. */
import type { Pod } from '../../../api/gen/core-v1.ts';
import type { PodDisruptionBudget } from '../../../api/gen/policy-v1.ts';
import { compileLabelSelector, type LabelMatcher } from '../../../api/label-selector.ts';
import type { Stored } from '../../../api/object.ts';

interface Guard {
  /** Its place in the list of all budgets. */
  readonly index: number;
  readonly budget: PodDisruptionBudget;
  readonly selector: LabelMatcher;
}

/**
 * The budgets of one search. A pod is compared with those of its namespace, and pods of equal labels once: a namespace may
 * have thousands of budgets, and every node's pods are looked at.
 */
export class GuardingBudgets {
  readonly #all: readonly PodDisruptionBudget[];
  readonly #byLabels = new Map<string, readonly Guard[]>();
  #byNamespace: ReadonlyMap<string | undefined, readonly Guard[]> | undefined;

  constructor(all: readonly PodDisruptionBudget[]) {
    this.#all = all;
  }

  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** The disruptions that each budget still allows, by its index. */
  allowed(): number[] {
    return this.#all.map(({ status }) => status?.disruptionsAllowed ?? 0);
  }

  /** The indexes of the budgets that the pod's eviction counts against. */
  *of(pod: Stored<Pod>): Iterable<number> {
    const { name } = pod.metadata;
    // A budget has counted a pod that it names already.
    for (const { index, budget } of this.#matching(pod))
      if (budget.status?.disruptedPods?.[name] === undefined) yield index;
  }

  #matching({ metadata: { namespace, labels } }: Stored<Pod>): readonly Guard[] {
    const own = (this.#byNamespace ??= guardsByNamespace(this.#all)).get(namespace);
    if (own === undefined || Object.keys(labels ?? {}).length === 0) return [];
    const key = JSON.stringify([namespace, labels]);
    let matching = this.#byLabels.get(key);
    if (matching === undefined)
      this.#byLabels.set(key, (matching = own.filter(({ selector }) => selector.matches(labels))));
    return matching;
  }
}

/** Those that select something, and not everything: upstream passes over them. */
function guardsByNamespace(budgets: readonly PodDisruptionBudget[]): ReadonlyMap<string | undefined, readonly Guard[]> {
  const guards = budgets.map((budget, index) => ({
    index,
    budget,
    selector: compileLabelSelector(budget.spec?.selector),
  }));
  const selecting = guards.filter(({ selector }) => !selector.isNothing && !selector.isEverything);
  return Map.groupBy(selecting, ({ budget }) => budget.metadata.namespace);
}
