/**
 * One scheduling cycle: from a pod and a snapshot to the best node, or to the reasons why there is none. Pure apart
 * from the plugins and the random choice among equal nodes. In a large cluster it examines a sample of the nodes, as
 * upstream does. Upstream: schedule_one.go (schedulePod, findNodesThatFitPod).
 */
import type { Pod } from '../api/gen/core-v1.ts';
import type { Stored } from '../api/object.ts';
import type { Random } from '../platform/random.ts';
import type { NodeInfo, Snapshot } from './cache/node-info.ts';
import type { Diagnosis } from './fit-error.ts';
import type { ClassMemory } from './framework/class-memory.ts';
import type { CycleState, Nominations, SchedulerPlugin } from './framework/plugin.ts';
import { runPreFilter, runScores, type PreFiltered, type Profile, type Scored } from './framework/profile.ts';
import { runFilters, runFiltersWithNominated } from './framework/run-filters.ts';
import { unresolvable, unschedulable, type Status } from './framework/status.ts';
import { recordRefusals, stillRefused, type RefusalQuestion } from './refusal-memory.ts';

/** The chosen node, or why there is none. */
export type ScheduleResult =
  | {
      readonly node: string;
      /** Absent when only one node was feasible. */
      readonly scored?: Scored;
      readonly statuses: ReadonlyMap<string, Status>;
      /** Names of the plugins whose Filter ran. */
      readonly filters: readonly string[];
    }
  | { readonly node: undefined; readonly diagnosis: Diagnosis; readonly filters: readonly SchedulerPlugin[] };

/** The inputs of a cycle. `startAt` is the node at which the last cycle stopped; the cycle advances it. */
export interface ScheduleInput {
  readonly profile: Profile;
  readonly pod: Stored<Pod>;
  readonly snapshot: Snapshot;
  readonly random: Random;
  readonly cursor: { startAt: number };
  /** Nominated pods; absent: none. */
  readonly nominations?: Nominations;
}

const MIN_FEASIBLE = 100;

/**
 * The number of feasible nodes at which the search stops; without a percentage its share falls as the cluster grows.
 * Upstream: numFeasibleNodesToFind.
 */
export function feasibleNodesToFind(nodeCount: number, percentageOfNodesToScore: number = 0): number {
  if (nodeCount < MIN_FEASIBLE) return nodeCount;
  const percentage =
    percentageOfNodesToScore === 0 ? Math.max(5, 50 - Math.floor(nodeCount / 125)) : percentageOfNodesToScore;
  return Math.max(MIN_FEASIBLE, Math.floor((nodeCount * percentage) / 100));
}

/** The feasible nodes, and the statuses of the others. */
export interface FoundNodes {
  readonly feasible: readonly NodeInfo[];
  readonly statuses: ReadonlyMap<string, Status>;
  readonly filters: readonly SchedulerPlugin[];
  readonly nodeCount: number;
  /** A rejection by PreFilter, before any node was examined. */
  readonly preFilter?: Status;
  readonly memory?: ClassMemory;
}

/** Runs the cycle up to the choice of a node. */
export function schedulePod(input: ScheduleInput, state: CycleState): ScheduleResult {
  return pickNode(input, state, { found: findNodes(input, state) });
}

/** Runs PreFilter and Filter. */
export function findNodes(input: ScheduleInput, state: CycleState): FoundNodes {
  const { profile, pod, snapshot } = input;
  const pre = runPreFilter(profile, state, { pod, snapshot });
  if (pre.rejection !== undefined) {
    const nodeCount = snapshot.nodes.length;
    return { feasible: [], statuses: new Map(), filters: [], nodeCount, preFilter: pre.rejection };
  }
  const startedMs = profile.timer?.started() ?? 0;
  const foundNodes = filterNodes(input, state, pre);
  profile.timer?.ended('Filter', startedMs, foundNodes.feasible.length === 0 ? NO_NODE : undefined);
  return foundNodes;
}

const NO_NODE = unschedulable('');

function filterNodes(input: ScheduleInput, state: CycleState, pre: PreFiltered): FoundNodes {
  const { pod, snapshot } = input;
  const nodeCount = snapshot.nodes.length;
  const statuses = new Map<string, Status>();
  const feasible: NodeInfo[] = [];
  const askedFilters = splitFilters(input, pre);
  const nominated = input.nominations?.nodeOf(pod) ?? pod.status?.nominatedNodeName;
  const nominatedInfo = nominated === undefined ? undefined : snapshot.byName(nominated);
  if (
    nominatedInfo !== undefined &&
    filterNode(input, state, { asked: askedFilters, node: nominatedInfo }) === undefined
  )
    feasible.push(nominatedInfo);
  else {
    const refusals = pre.nodeNames === undefined ? refusalQuestion(input, state, askedFilters) : undefined;
    const still = refusals === undefined ? undefined : stillRefused(refusals);
    if (still !== undefined) return { feasible, statuses: still, filters: pre.filters, nodeCount };
    findFeasible(input, state, { pre, asked: askedFilters, statuses, feasible });
    if (feasible.length === 0 && refusals !== undefined) recordRefusals(refusals, statuses);
  }
  const allStatuses = feasible.length === 0 ? withExcluded(statuses, pre, snapshot) : statuses;
  const { memory } = askedFilters;
  return { feasible, statuses: allStatuses, filters: pre.filters, nodeCount, memory };
}

/** Scores the nodes and chooses one. `more`: extenders' scores. */
export function pickNode(
  input: ScheduleInput,
  state: CycleState,
  { found, more }: { found: FoundNodes; more?: ReadonlyMap<string, number> },
): ScheduleResult {
  const { profile, pod, snapshot } = input;
  const { feasible, statuses, filters, nodeCount, preFilter, memory } = found;
  const [only] = feasible;
  if (only === undefined)
    return {
      node: undefined,
      diagnosis: { nodeCount, statuses, preFilter },
      filters,
    };
  const names = filters.map(({ name }) => name);
  if (feasible.length === 1) return { node: only.name, statuses, filters: names };
  const scored = runScores(profile, state, {
    pod,
    nodes: feasible,
    snapshot,
    memory,
  });
  if (more !== undefined)
    feasible.forEach(({ name }, i) => (scored.totals[i] = (scored.totals[i] ?? 0) + (more.get(name) ?? 0)));
  return { node: selectHost(scored, input.random), scored, statuses, filters: names };
}

/** The filter plugins that run for each node: first a leading group whose results are remembered, then the others. */
interface AskedFilters {
  readonly all: readonly SchedulerPlugin[];
  readonly memory?: ClassMemory;
  /** Filter plugins whose results are not remembered. */
  readonly others: readonly SchedulerPlugin[];
}

function splitFilters({ profile, pod, snapshot }: ScheduleInput, pre: PreFiltered): AskedFilters {
  const all = pre.filters;
  // PreFilter names the nodes (DaemonSets): each is examined once, and no other pod shares the result.
  if (profile.memories === undefined || pre.nodeNames !== undefined) return { all, others: all };
  const end = all.findIndex((plugin) => plugin.nodeLocal !== true);
  const local = end === -1 ? all : all.slice(0, end);
  const memory = profile.memories.of(pod, local, snapshot.tracker);
  memory.prepare();
  return { all, memory, others: end === -1 ? [] : all.slice(end) };
}

function filterNode(
  { pod, nominations }: ScheduleInput,
  state: CycleState,
  { asked, node }: { asked: AskedFilters; node: NodeInfo },
): Status | undefined {
  // The pod must fit with and without the nominated pods; the result without them is mostly remembered.
  const status =
    asked.memory?.filter(state, pod, node) ??
    (asked.others.length === 0 ? undefined : runFilters(asked.others, state, { pod, node }));
  if (status?.code === 'error') throw status.cause;
  if (status !== undefined || nominations === undefined || nominations.on(node.name).length === 0) return status;
  return runFiltersWithNominated(asked.all, state, { pod, node, nominations });
}

/** Undefined where a filter depends on more than pod and node: the result then does not hold for the next pod. */
function refusalQuestion(
  input: ScheduleInput,
  state: CycleState,
  askedFilters: AskedFilters,
): RefusalQuestion | undefined {
  const { memory, others } = askedFilters;
  if (memory === undefined || others.length > 0) return undefined;
  return {
    memory,
    snapshot: input.snapshot,
    ask: (node) => filterNode(input, state, { asked: askedFilters, node }),
    askAlone: (node) => memory.filter(state, input.pod, node),
  };
}

/** Adds the statuses of nodes that PreFilter ruled out. */
function withExcluded(
  statuses: Map<string, Status>,
  pre: ReturnType<typeof runPreFilter>,
  snapshot: Snapshot,
): ReadonlyMap<string, Status> {
  if (pre.nodeNames === undefined) return statuses;
  const plugins = pre.narrowedBy ?? [];
  const status = unresolvable(plugins[0] ?? '', `node(s) didn't satisfy plugin(s) [${plugins.join(' ')}]`);
  for (const { name } of snapshot.nodes) if (!statuses.has(name)) statuses.set(name, status);
  return statuses;
}

function findFeasible(
  input: ScheduleInput,
  state: CycleState,
  found: { pre: PreFiltered; asked: AskedFilters; statuses: Map<string, Status>; feasible: NodeInfo[] },
): void {
  const { snapshot, cursor } = input;
  const { pre, asked, statuses, feasible } = found;
  const named = pre.nodeNames;
  const nodes = named === undefined ? snapshot.nodes : [...named].flatMap((name) => snapshot.byName(name) ?? []);
  const enough =
    named === undefined ? feasibleNodesToFind(nodes.length, input.profile.percentageOfNodesToScore) : nodes.length;
  let visited = 0;
  try {
    for (; visited < nodes.length && feasible.length < enough; visited++) {
      const node = nodes[(cursor.startAt + visited) % nodes.length] as NodeInfo;
      const status = filterNode(input, state, { asked, node });
      if (status === undefined) feasible.push(node);
      else statuses.set(node.name, status);
    }
  } finally {
    // Also after a filter's error: the next attempt starts at other nodes.
    if (named === undefined && nodes.length > 0) cursor.startAt = (cursor.startAt + visited) % nodes.length;
  }
}

/** The node with the highest score; a random one among equals. Upstream: selectHost. */
function selectHost({ nodes, totals }: Scored, random: Random): string {
  let at = 0;
  let equals = 1;
  for (let i = 1; i < totals.length; i++) {
    const candidate = totals[i] as number;
    const best = totals[at] as number;
    if (candidate > best) {
      at = i;
      equals = 1;
    } else if (candidate === best) equals++;
  }
  const best = totals[at] as number;
  for (let skip = equals === 1 ? 0 : random.int(equals); skip > 0; skip--) at = totals.indexOf(best, at + 1);
  return (nodes[at] as NodeInfo).name;
}
