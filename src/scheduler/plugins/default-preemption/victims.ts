/**
 * Which pods a node would have to evict for a pod of higher priority, and which of several nodes is best. Pure apart
 * from the plugins. Upstream: defaultpreemption.SelectVictimsOnNode and preemption.pickOneNodeForPreemption.
 */
import type { Pod } from '../../../api/gen/core-v1.ts';
import { parseTime } from '../../../api/time.ts';
import type { Stored } from '../../../api/object.ts';
import type { NodeInfo } from '../../cache/node-info.ts';
import type { CycleState, Nominations, SchedulerPlugin } from '../../framework/plugin.ts';
import { cloneState, runFiltersWithNominated, supposePod } from '../../framework/run-filters.ts';
import { unresolvable, type Status } from '../../framework/status.ts';
import type { GuardingBudgets } from './guarding-budgets.ts';

/** A node and its victims. */
export interface Candidate {
  readonly node: string;
  /** Most important first. */
  readonly victims: readonly Stored<Pod>[];
  /** How many of them a disruption budget protects. */
  readonly violations: number;
  /** The earliest start among the victims of the highest priority. */
  readonly earliestStartMs: number;
  /** The highest priority of a victim; -Infinity without victims. */
  readonly highestPriority: number;
  /** The sum of the victims' priorities, each shifted above zero so that every victim counts. */
  readonly prioritySum: number;
}

/** The input of the search. */
export interface VictimSearch {
  readonly pod: Stored<Pod>;
  readonly state: CycleState;
  readonly filters: readonly SchedulerPlugin[];
  readonly nominations: Nominations;
  readonly budgets: GuardingBudgets;
}

export function priorityOf(pod: Stored<Pod>): number {
  return pod.spec?.priority ?? 0;
}

/** The fewest and least important victims that make room on the node, or why none do. */
export function selectVictims(search: VictimSearch, original: NodeInfo): Candidate | Status {
  const { pod, filters, nominations } = search;
  const lower = [...original.pods.values()].filter((other) => priorityOf(other) < priorityOf(pod));
  if (lower.length === 0) return unresolvable('DefaultPreemption', 'No preemption victims found for incoming pod');
  const node = original.clone();
  const state = cloneState(filters, search.state);
  const suppose = (other: Stored<Pod>, present: boolean): void =>
    supposePod(filters, state, { pod, other, node, present });
  const fits = (): Status | undefined => runFiltersWithNominated(filters, state, { pod, node, nominations });
  for (const other of lower) suppose(other, false);
  const status = fits();
  if (status !== undefined) return status;
  const { violating, others } = splitByBudgets(lower.toSorted(moreImportant), search.budgets);
  const victims: Stored<Pod>[] = [];
  const reprieve = (other: Stored<Pod>): boolean => {
    suppose(other, true);
    if (fits() === undefined) return true;
    suppose(other, false);
    victims.push(other);
    return false;
  };
  const violations = violating.filter((other) => !reprieve(other)).length;
  for (const other of others) reprieve(other);
  return candidateOf(original.name, victims, violations);
}

/** Computes a candidate from a node's victims. */
export function candidateOf(node: string, pods: readonly Stored<Pod>[], violations: number): Candidate {
  const victims = pods.toSorted(moreImportant);
  return {
    node,
    victims,
    violations,
    earliestStartMs: earliestStart(victims),
    highestPriority: victims[0] === undefined ? -Infinity : priorityOf(victims[0]),
    prioritySum: victims.reduce((sum, victim) => sum + priorityOf(victim) + 2 ** 31, 0),
  };
}

/** Higher priority first, then the longer running pod. */
function moreImportant(a: Stored<Pod>, b: Stored<Pod>): number {
  return priorityOf(b) - priorityOf(a) || startMs(a) - startMs(b);
}

function startMs(pod: Stored<Pod>): number {
  const ms = parseTime(pod.status?.startTime ?? pod.metadata.creationTimestamp);
  return Number.isNaN(ms) ? Number.MAX_SAFE_INTEGER : ms;
}

/** Start of the earliest among the most important victims; `victims` is sorted. */
function earliestStart(victims: readonly Stored<Pod>[]): number {
  const [first] = victims;
  if (first === undefined) return Infinity;
  return victims
    .filter((pod) => priorityOf(pod) === priorityOf(first))
    .reduce((earliest, pod) => Math.min(earliest, startMs(pod)), Infinity);
}

/**
 * Splits pods by whether their eviction would violate a budget, given the disruptions that each budget still allows.
 */
function splitByBudgets(
  pods: readonly Stored<Pod>[],
  budgets: GuardingBudgets,
): { violating: Stored<Pod>[]; others: Stored<Pod>[] } {
  const allowed = budgets.allowed();
  const violating: Stored<Pod>[] = [];
  const others: Stored<Pod>[] = [];
  for (const pod of pods) {
    let violates = false;
    for (const index of budgets.of(pod)) {
      allowed[index] = (allowed[index] ?? 0) - 1;
      if ((allowed[index] ?? 0) < 0) violates = true;
    }
    (violates ? violating : others).push(pod);
  }
  return { violating, others };
}

/** The candidate that does the least damage, the first among equals. The list must not be empty. */
export function bestCandidate(candidates: readonly Candidate[]): Candidate {
  return candidates.reduce((best, candidate) => (compareHurt(candidate, best) < 0 ? candidate : best));
}

function compareHurt(a: Candidate, b: Candidate): number {
  return (
    a.violations - b.violations ||
    compareNumbers(a.highestPriority, b.highestPriority) ||
    a.prioritySum - b.prioritySum ||
    a.victims.length - b.victims.length ||
    compareNumbers(b.earliestStartMs, a.earliestStartMs)
  );
}

/** A comparison without subtraction, as infinities minus themselves are NaN. */
function compareNumbers(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
