/**
 * PodTopologySpread: hard constraints filter; soft ones, and defaults for pods without any, score. Upstream:
 * plugins/podtopologyspread (filtering.go; scoring is in spread-scores.ts).
 */
import type { Node, Pod } from '../../../api/gen/core-v1.ts';
import type { Stored } from '../../../api/object.ts';
import { deepEqual } from '../../../base/equal.ts';
import type { NodeInfo, Snapshot } from '../../cache/node-info.ts';
import { defaultArgs, type SpreadArgs } from '../../config/plugin-args.ts';
import { createNodeCounts } from '../../framework/node-counts.ts';
import type { CycleState, Lack, PodChange, SchedulerPlugin } from '../../framework/plugin.ts';
import type { SiblingSelector } from '../../framework/plugin-deps.ts';
import { unresolvable, unschedulable } from '../../framework/status.ts';
import { createTopologyTallies, type TopologyTallies } from '../../framework/topology-tallies.ts';
import { domainSums, NodesWithAllKeys } from './domain-sums.ts';
import { constraintsOf, defaultConstraints, type SpreadConstraint, type SpreadMemory } from './spread-constraints.ts';
import { SpreadKeys } from './spread-keys.ts';
import { normalizeSpread, prepareSpreadScores, spreadScore, type SpreadScores } from './spread-scores.ts';

const NAME = 'PodTopologySpread';
const SCORES = `${NAME}/scores`;
const MISMATCH = "node(s) didn't match pod topology spread constraints";
const NO_LABEL = unresolvable(NAME, `${MISMATCH} (missing required label)`);
const TOO_MANY = unschedulable(NAME, MISMATCH);
const SKIP = { code: 'skip', reasons: [], plugin: NAME } as const;

interface PreFilterState {
  readonly constraints: readonly SpreadConstraint[];
  readonly together: NodesWithAllKeys;
  /** Per constraint: matching pods by topology value. */
  readonly counts: readonly ReadonlyMap<string, number>[];
  /** Per constraint: the count of the emptiest domain. Undefined: to be computed again. */
  readonly least: (number | undefined)[];
}

export function createPodTopologySpread(
  siblings: SiblingSelector,
  args: SpreadArgs = defaultArgs.spread,
): SchedulerPlugin {
  const memory: SpreadMemory = { counts: createNodeCounts(), keys: new SpreadKeys() };
  const tallies = createTopologyTallies();
  const constraintsFor = (pod: Stored<Pod>, kind: 'DoNotSchedule' | 'ScheduleAnyway'): SpreadConstraint[] =>
    (pod.spec?.topologySpreadConstraints ?? []).length > 0
      ? constraintsOf(pod, kind, memory)
      : defaultConstraints(pod, { memory, siblings, defaults: args.defaultConstraints, kind });
  /** By constraint. */
  const counted = (pod: Stored<Pod>, other: Stored<Pod>): boolean[] =>
    constraintsFor(pod, 'DoNotSchedule').map((constraint) => constraint.matches(other));
  const takesPart = (pod: Stored<Pod>, { metadata }: Stored<Node>): boolean =>
    constraintsFor(pod, 'DoNotSchedule').every(({ topologyKey }) => metadata.labels?.[topologyKey] !== undefined);
  /** The domains a node belongs to, by constraint. */
  const domainsOf = (pod: Stored<Pod>, node: Stored<Node>): (string | undefined)[] =>
    constraintsFor(pod, 'DoNotSchedule').map((constraint) =>
      takesPart(pod, node) && constraint.includes({ node })
        ? node.metadata.labels?.[constraint.topologyKey]
        : undefined,
    );
  return {
    name: NAME,
    preFilter(state, pod, snapshot) {
      const constraints = constraintsFor(pod, 'DoNotSchedule');
      if (constraints.length === 0) return SKIP;
      state.set(NAME, countDomains(constraints, new NodesWithAllKeys(constraints, memory.keys), { snapshot, tallies }));
      return undefined;
    },
    filter: (state, _pod, node) => filterNode(state.get(NAME) as PreFilterState, node),
    explain: (state, _pod, node) => explainSkew(state.get(NAME) as PreFilterState, node),
    addPod: (state, _pod, change) => changeCounts(state, change, 1),
    removePod: (state, _pod, change) => changeCounts(state, change, -1),
    cloneState(value) {
      const { constraints, together, counts: domains, least } = value as PreFilterState;
      return {
        constraints,
        together,
        counts: domains.map((values) => new Map(values)),
        least: [...least],
      } satisfies PreFilterState;
    },
    preScore(state, pod, scored) {
      const own = (pod.spec?.topologySpreadConstraints ?? []).length > 0;
      const constraints = constraintsFor(pod, 'ScheduleAnyway');
      if (constraints.length === 0) return SKIP;
      state.set(
        SCORES,
        prepareSpreadScores(constraints, scored, {
          requireAll: own || args.defaultConstraints !== undefined,
          tallies,
          keys: memory.keys,
        }),
      );
      return undefined;
    },
    score: (state, _pod, node) => spreadScore(state.get(SCORES) as SpreadScores, node),
    normalize: (_state, _pod, scores) => normalizeSpread(scores),
    events: [
      { event: 'assigned-pod/add', hint: (pod, _old, other) => counted(pod, other as Stored<Pod>).includes(true) },
      {
        event: 'assigned-pod/update',
        hint: (pod, old, now) => !deepEqual(counted(pod, old as Stored<Pod>), counted(pod, now as Stored<Pod>)),
      },
      {
        event: 'assigned-pod/delete',
        hint: (pod, gone) => counted(pod, withoutDeletionTimestamp(gone as Stored<Pod>)).includes(true),
      },
      { event: 'node/add', hint: (pod, _old, node) => takesPart(pod, node as Stored<Node>) },
      { event: 'node/delete', hint: (pod, node) => takesPart(pod, node as Stored<Node>) },
      {
        event: 'node/update-label',
        hint: (pod, old, now) => !deepEqual(domainsOf(pod, old as Stored<Node>), domainsOf(pod, now as Stored<Node>)),
      },
      { event: 'node/update-taint', hint: (pod, _old, node) => takesPart(pod, node as Stored<Node>) },
      {
        event: 'pod/update',
        hint: (pod, old) => !deepEqual((old as Stored<Pod> | undefined)?.metadata.labels, pod.metadata.labels),
      },
    ],
  };
}

/**
 * The pod without its deletion timestamp: a terminating pod does not count, but its deletion must still be recognized
 * as a change.
 */
function withoutDeletionTimestamp(pod: Stored<Pod>): Stored<Pod> {
  const { deletionTimestamp: _, ...metadata } = pod.metadata;
  return { ...pod, metadata };
}

function countDomains(
  constraints: readonly SpreadConstraint[],
  together: NodesWithAllKeys,
  counted: { readonly snapshot: Snapshot; readonly tallies: TopologyTallies },
): PreFilterState {
  return {
    constraints,
    together,
    counts: constraints.map((constraint) => domainSums(constraint, together, counted)),
    least: constraints.map(() => undefined),
  };
}

function filterNode(preFilterState: PreFilterState, node: NodeInfo): ReturnType<typeof unschedulable> | undefined {
  const { constraints, counts } = preFilterState;
  for (let i = 0; i < constraints.length; i++) {
    const constraint = constraints[i] as SpreadConstraint;
    const value = node.node.metadata.labels?.[constraint.topologyKey];
    if (value === undefined) return NO_LABEL;
    const skew = (counts[i]?.get(value) ?? 0) + (constraint.selfMatches ? 1 : 0) - leastOf(preFilterState, i);
    if (skew > constraint.maxSkew) return TOO_MANY;
  }
  return undefined;
}

/** The constraints that the node violates. */
function explainSkew(preFilterState: PreFilterState, { node }: NodeInfo): readonly Lack[] {
  return preFilterState.constraints.flatMap(({ topologyKey, maxSkew, selfMatches }, i) => {
    const value = node.metadata.labels?.[topologyKey];
    if (value === undefined) return [{ what: `the node has no label ${topologyKey}`, distance: 1 }];
    const count = preFilterState.counts[i]?.get(value) ?? 0;
    const least = leastOf(preFilterState, i);
    const over = count + (selfMatches ? 1 : 0) - least - maxSkew;
    if (over <= 0) return [];
    const what = `matching pods in ${topologyKey}=${value}: ${count}, in the emptiest: ${least}; maxSkew is ${maxSkew}`;
    return [{ what, distance: over }];
  });
}

/** The count of the emptiest domain; 0 when there are fewer domains than minDomains. */
function leastOf(preFilterState: PreFilterState, index: number): number {
  const cached = preFilterState.least[index];
  if (cached !== undefined) return cached;
  const values = preFilterState.counts[index] ?? new Map<string, number>();
  let least = values.size < (preFilterState.constraints[index]?.minDomains ?? 1) || values.size === 0 ? 0 : Infinity;
  if (least !== 0) for (const count of values.values()) least = Math.min(least, count);
  preFilterState.least[index] = least;
  return least;
}

function changeCounts(state: CycleState, { other, node }: PodChange, by: 1 | -1): void {
  const preFilterState = state.get(NAME) as PreFilterState | undefined;
  if (preFilterState === undefined || !preFilterState.together.has(node)) return;
  preFilterState.constraints.forEach((constraint, i) => {
    if (!constraint.matches(other) || !constraint.includes(node)) return;
    const value = node.node.metadata.labels?.[constraint.topologyKey] ?? '';
    // Only copies made by `cloneState` come here.
    const values = preFilterState.counts[i] as Map<string, number>;
    values.set(value, (values.get(value) ?? 0) + by);
    preFilterState.least[i] = undefined;
  });
}
