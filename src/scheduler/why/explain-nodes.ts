/**
 * Explains decisions node by node: a recorded one, or a new one on request, for which every plugin runs on every
 * node. Pure apart from the plugins.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import type { Stored } from '../../api/object.ts';
import type { NodeVerdict, PluginVerdict, PodDecision } from '../../component-helpers/pod-why.ts';
import type { Clock } from '../../platform/clock.ts';
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import { fitErrorMessage } from '../fit-error.ts';
import type { CycleState, ExplainTurns, Lack, Nominations, SchedulerPlugin } from '../framework/plugin.ts';
import { stepByStep } from '../../base/steps.ts';
import {
  preparation,
  runPreFilter,
  runScores,
  type PreFiltered,
  type Profile,
  type Scored,
} from '../framework/profile.ts';
import { runFiltersWithNominated } from '../framework/run-filters.ts';
import { unresolvable, type Status } from '../framework/status.ts';
import type { Decision } from './decision-log.ts';

/** The explanation of a recorded decision. */
export function podDecisionOf(decision: Decision): PodDecision {
  const { statuses, scored, nodeName, filters } = decision;
  const nodes: NodeVerdict[] = scoredVerdicts(scored, nodeName, passed(filters));
  if (scored === undefined && nodeName !== undefined)
    nodes.push({ name: nodeName, verdict: 'Chosen', plugins: passed(filters) });
  for (const [name, status] of statuses) {
    const before = filters.slice(0, Math.max(0, filters.indexOf(status.plugin)));
    nodes.push({ name, verdict: rejection(status), plugins: [...passed(before), pluginVerdict(status, [])] });
  }
  return {
    time: formatTime(decision.atMs),
    result: nodeName === undefined ? 'Unschedulable' : 'Scheduled',
    message:
      nodeName === undefined
        ? decision.message
        : `${nodeName} chosen among ${Math.max(1, scored?.nodes.length ?? 1)} of ${decision.nodeCount} nodes that fit`,
    nodeName,
    nodeCount: decision.nodeCount,
    nodes,
  };
}

/** The input of an explanation on request. */
export interface ExplainInput {
  readonly profile: Profile;
  readonly pod: Stored<Pod>;
  readonly snapshot: Snapshot;
  readonly nominations: Nominations;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'yield'>;
}

/** The walk over the nodes yields after this time. */
const TURN_MS = 2;

interface ExplainedNode {
  readonly node: NodeInfo;
  readonly statuses: readonly Status[];
  readonly verdict: NodeVerdict;
  /** How far from fitting; the nearest node is listed first. Nodes that the pod's own selectors exclude come last. */
  readonly distance: readonly number[];
}

/** Runs every plugin on every node of the current cluster. It yields meanwhile, so the cluster may change. */
export async function explainNow(input: ExplainInput): Promise<PodDecision> {
  const { profile, pod, snapshot, clock } = input;
  const state: CycleState = new Map();
  const turns = turnsOf(clock);
  await stepByStep(preparation(input, state), async () => turns.next());
  const pre = runPreFilter(profile, state, { pod, snapshot });
  const nodeCount = snapshot.nodes.length;
  const head = { time: formatTime(clock.nowMs()), nodeCount };
  if (pre.rejection !== undefined)
    return {
      ...head,
      result: 'Unschedulable',
      message: fitErrorMessage({ nodeCount, statuses: new Map(), preFilter: pre.rejection }),
      rejectedBy: nodeCount === 0 ? undefined : pre.rejection.plugin,
      nodes: [],
    };
  const explained = await explainNodes(input, state, pre);
  const feasible = explained.filter(({ statuses }) => statuses.length === 0).map(({ node }) => node);
  if (feasible.length > 0) return feasibleNow(input, state, { head, explained, feasible, pre });
  const statuses = new Map(explained.map(({ node, statuses: [first] }) => [node.name, first as Status]));
  return {
    ...head,
    result: 'Unschedulable',
    message: fitErrorMessage({ nodeCount, statuses }),
    nodes: explained.toSorted(nearer).map(({ verdict }) => verdict),
  };
}

function feasibleNow(
  { profile, pod, snapshot }: ExplainInput,
  state: CycleState,
  found: {
    head: { time: string; nodeCount: number };
    explained: readonly ExplainedNode[];
    feasible: readonly NodeInfo[];
    pre: PreFiltered;
  },
): PodDecision {
  const { head, explained, feasible, pre } = found;
  const scored = runScores(profile, state, { pod, nodes: feasible, snapshot });
  const plugins = passed(pre.filters.map(({ name }) => name));
  const rejected = explained.filter(({ statuses }) => statuses.length > 0).toSorted(nearer);
  return {
    ...head,
    result: 'Schedulable',
    message: `fits on ${feasible.length} of ${head.nodeCount} nodes at this moment`,
    nodes: [...scoredVerdicts(scored, undefined, plugins), ...rejected.map(({ verdict }) => verdict)],
  };
}

async function explainNodes(
  input: ExplainInput,
  state: CycleState,
  pre: PreFiltered,
): Promise<readonly ExplainedNode[]> {
  const turns = turnsOf(input.clock);
  const explained: ExplainedNode[] = [];
  const prepared = new Set<SchedulerPlugin>();
  for (const node of input.snapshot.nodes) {
    const refusals: Refusal[] = [];
    for (const plugin of pre.filters) {
      const status = plugin.filter?.(state, input.pod, node);
      if (status === undefined) continue;
      refusals.push({ plugin, status });
      if (prepared.has(plugin)) continue;
      prepared.add(plugin);
      await plugin.prepareExplain?.(state, input.pod, input.snapshot, turns);
    }
    explained.push(explainNode(input, state, { pre, node, refusals }));
    await turns.next();
  }
  return explained;
}

/** Plugins that evaluate the pod's own choice of nodes. */
const OWN_CHOICE: ReadonlySet<string> = new Set(['NodeName', 'NodeAffinity']);

/** A plugin's rejection of a node. */
interface Refusal {
  readonly plugin: SchedulerPlugin;
  readonly status: Status;
}

function turnsOf(clock: ExplainInput['clock']): ExplainTurns {
  let sinceMs = clock.monotonicMs();
  const goOn = async (): Promise<void> => {
    await clock.yield();
    sinceMs = clock.monotonicMs();
  };
  return { next: () => (clock.monotonicMs() - sinceMs <= TURN_MS ? undefined : goOn()) };
}

function explainNode(
  { pod, nominations }: ExplainInput,
  state: CycleState,
  { pre, node, refusals }: { pre: PreFiltered; node: NodeInfo; refusals: readonly Refusal[] },
): ExplainedNode {
  const statuses: Status[] = [];
  const plugins: PluginVerdict[] = [];
  let shortage = 0;
  const refuse = (status: Status, lacks: readonly Lack[]): void => {
    statuses.push(status);
    plugins.push(
      pluginVerdict(
        status,
        lacks.map(({ what }) => what),
      ),
    );
    shortage += lacks.reduce((sum, { distance }) => sum + distance, 0);
  };
  if (pre.nodeNames?.has(node.name) === false) {
    const [first = ''] = pre.narrowedBy ?? [];
    refuse(unresolvable(first, `node(s) didn't satisfy plugin(s) [${pre.narrowedBy?.join(' ')}]`), []);
  }
  for (const plugin of pre.filters) {
    const refusal = refusals.find((one) => one.plugin === plugin);
    if (refusal === undefined) plugins.push({ name: plugin.name, verdict: 'Passed' });
    else refuse(refusal.status, plugin.explain?.(state, pod, node) ?? []);
  }
  const expected = statuses.length === 0 ? withNominated(pre.filters, state, { pod, node, nominations }) : undefined;
  if (expected !== undefined) refuse(expected, [{ what: 'room is kept for pods nominated to the node', distance: 1 }]);
  const unresolvableCount = statuses.filter(({ code }) => code !== 'unschedulable').length;
  const verdict = statuses.length === 0 ? 'Feasible' : unresolvableCount > 0 ? 'Unresolvable' : 'Rejected';
  return {
    node,
    statuses,
    verdict: { name: node.name, verdict, plugins },
    distance: [
      statuses.some(({ plugin }) => OWN_CHOICE.has(plugin)) ? 1 : 0,
      statuses.length,
      unresolvableCount,
      shortage,
    ],
  };
}

function withNominated(
  filters: readonly SchedulerPlugin[],
  state: CycleState,
  input: { pod: Stored<Pod>; node: NodeInfo; nominations: Nominations },
): Status | undefined {
  return input.nominations.on(input.node.name).length === 0
    ? undefined
    : runFiltersWithNominated(filters, state, input);
}

function nearer(a: ExplainedNode, b: ExplainedNode): number {
  for (let i = 0; i < a.distance.length; i++) {
    const difference = (a.distance[i] ?? 0) - (b.distance[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.node.name < b.node.name ? -1 : 1;
}

function passed(names: readonly string[]): PluginVerdict[] {
  return names.map((name) => ({ name, verdict: 'Passed' }));
}

function rejection({ code }: Status): 'Rejected' | 'Unresolvable' {
  return code === 'unschedulable' ? 'Rejected' : 'Unresolvable';
}

function pluginVerdict(status: Status, lacks: readonly string[]): PluginVerdict {
  const verdict = status.code === 'error' ? 'Error' : rejection(status);
  return { name: status.plugin, verdict, reasons: status.reasons, lacks: lacks.length === 0 ? undefined : lacks };
}

function scoredVerdicts(
  scored: Scored | undefined,
  chosen: string | undefined,
  plugins: readonly PluginVerdict[],
): NodeVerdict[] {
  if (scored === undefined) return [];
  return scored.nodes
    .map((node, i): NodeVerdict & { totalScore: number } => ({
      name: node.name,
      verdict: node.name === chosen ? 'Chosen' : 'Feasible',
      plugins,
      scores: scored.parts.map(({ plugin, weight, scores }) => ({ name: plugin, score: scores[i] ?? 0, weight })),
      totalScore: scored.totals[i] ?? 0,
    }))
    .sort((a, b) => Number(b.name === chosen) - Number(a.name === chosen) || b.totalScore - a.totalScore);
}
