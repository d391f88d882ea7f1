/**
 * A profile: the plugins for one scheduler name, and how they are run. Pure apart from the plugins. Upstream:
 * frameworkImpl.
 */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { Stored } from '../../api/object.ts';
import type { Steps } from '../../base/steps.ts';
import type { NodeInfo, Snapshot } from '../cache/node-info.ts';
import { ClassMemories, type ClassMemory } from './class-memory.ts';
import { EXTENSION_POINTS, methodOf, type ExtensionPoint } from './extension-points.ts';
import type { PointTimer } from './point-timer.ts';
import type { CycleState, PreFilterResult, SchedulerPlugin } from './plugin.ts';
import { timedCall } from './plugin-timer.ts';
import type { Status } from './status.ts';

/** Plugins in the order they are called, by extension point. */
export type PluginPoints = Readonly<Record<ExtensionPoint, readonly SchedulerPlugin[]>>;

/** Plugins with their score weights. */
export interface Profile {
  readonly schedulerName: string;
  /** The profile's plugins, each once. */
  readonly plugins: readonly SchedulerPlugin[];
  readonly points: PluginPoints;
  readonly weights: Readonly<Record<string, number>>;
  /** 0: depends on the size of the cluster. */
  readonly percentageOfNodesToScore: number;
  /** Absent: every plugin runs for every node. */
  readonly memories?: ClassMemories;
  /** Absent: extension points are not timed. */
  readonly timer?: PointTimer;
}

/** The input of a profile; by default each plugin serves every point that it implements. */
export interface ProfileParts {
  readonly schedulerName: string;
  readonly plugins: readonly SchedulerPlugin[];
  readonly weights: Readonly<Record<string, number>>;
  /** Plugin names in call order, by point. */
  readonly enabled?: Readonly<Record<ExtensionPoint, readonly string[]>>;
  readonly percentageOfNodesToScore?: number;
  /** Default true. Tests compare with false, where nothing is remembered. */
  readonly remembers?: boolean;
  readonly timer?: PointTimer;
}

export function createProfile(parts: ProfileParts): Profile {
  const { schedulerName, plugins, weights, enabled, percentageOfNodesToScore = 0 } = parts;
  const serving = (point: ExtensionPoint): readonly SchedulerPlugin[] => {
    const able = plugins.filter((plugin) => plugin[methodOf(point)] !== undefined);
    if (enabled === undefined) return able;
    return enabled[point].flatMap((name) => able.find((plugin) => plugin.name === name) ?? []);
  };
  const points = Object.fromEntries(EXTENSION_POINTS.map((point) => [point, serving(point)])) as PluginPoints & object;
  const memories = (parts.remembers ?? true) ? { memories: new ClassMemories() } : {};
  const timer = parts.timer === undefined ? {} : { timer: parts.timer };
  return { schedulerName, plugins, points, weights, percentageOfNodesToScore, ...memories, ...timer };
}

/** Either a rejection of the pod as a whole, or the nodes to examine and the filter plugins. */
export interface PreFiltered {
  readonly rejection?: Status;
  readonly nodeNames?: ReadonlySet<string>;
  /** The plugins that restricted the nodes. */
  readonly narrowedBy?: readonly string[];
  readonly filters: readonly SchedulerPlugin[];
}

/** What the PreFilter plugins prepare in steps. */
export function* preparation(
  { profile, pod, snapshot }: { profile: Profile; pod: Stored<Pod>; snapshot: Snapshot },
  state: CycleState,
): Steps<void> {
  for (const plugin of profile.points.preFilter) {
    const steps = plugin.prepare?.(state, pod, snapshot);
    if (steps !== undefined) yield* steps;
  }
}

/** Runs the PreFilter point. Plugins that return `skip` do not filter. */
export function runPreFilter(
  profile: Profile,
  state: CycleState,
  input: { pod: Stored<Pod>; snapshot: Snapshot },
): PreFiltered {
  const startedMs = profile.timer?.started() ?? 0;
  const filtered = runPreFilterPlugins(profile, state, input);
  profile.timer?.ended('PreFilter', startedMs, filtered.rejection);
  return filtered;
}

function statusOf(result: PreFilterResult | Status | undefined): Status | undefined {
  return result !== undefined && 'code' in result ? result : undefined;
}

function runPreFilterPlugins(
  profile: Profile,
  state: CycleState,
  input: { pod: Stored<Pod>; snapshot: Snapshot },
): PreFiltered {
  let nodeNames: ReadonlySet<string> | undefined;
  const narrowedBy: string[] = [];
  const skipped = new Set<SchedulerPlugin>();
  for (const plugin of profile.points.preFilter) {
    const result = timedCall(state, { plugin: plugin.name, point: 'PreFilter', statusOf }, () =>
      plugin.preFilter?.(state, input.pod, input.snapshot),
    );
    if (result === undefined) continue;
    if ('code' in result) {
      if (result.code !== 'skip') return { rejection: result, filters: [] };
      skipped.add(plugin);
    } else if (result.nodeNames !== undefined) {
      narrowedBy.push(plugin.name);
      nodeNames = nodeNames === undefined ? result.nodeNames : nodeNames.intersection(result.nodeNames);
    }
  }
  const filters = skipped.size === 0 ? profile.points.filter : profile.points.filter.filter((p) => !skipped.has(p));
  return { filters, ...(nodeNames === undefined ? {} : { nodeNames, narrowedBy }) };
}

/** The scores of one plugin. */
export interface ScorePart {
  readonly plugin: string;
  readonly weight: number;
  /** Normalized, not weighted; in the order of the nodes. */
  readonly scores: Float64Array;
}

/** The nodes with their weighted sums, and the plugins' parts for the explanation. */
export interface Scored {
  readonly nodes: readonly NodeInfo[];
  readonly totals: Float64Array;
  readonly parts: readonly ScorePart[];
}

/** Runs PreScore, Score and normalization on the feasible nodes, whose order is kept. */
export function runScores(
  profile: Profile,
  state: CycleState,
  input: { pod: Stored<Pod>; nodes: readonly NodeInfo[]; snapshot: Snapshot; memory?: ClassMemory },
): Scored {
  const { pod, nodes, snapshot } = input;
  const scored = { nodes, snapshot };
  const { timer } = profile;
  let startedMs = timer?.started() ?? 0;
  const totals = new Float64Array(nodes.length);
  const parts: ScorePart[] = [];
  const skipped = new Set<SchedulerPlugin>();
  for (const plugin of profile.points.preScore) {
    const status = timedCall(state, { plugin: plugin.name, point: 'PreScore', statusOf: (outcome) => outcome }, () =>
      plugin.preScore?.(state, pod, scored),
    );
    if (status?.code === 'skip') skipped.add(plugin);
  }
  timer?.ended('PreScore', startedMs);
  startedMs = timer?.started() ?? 0;
  for (const plugin of profile.points.score) {
    const weight = profile.weights[plugin.name] ?? 0;
    if (plugin.score === undefined || weight === 0 || skipped.has(plugin)) continue;
    const scores = timedCall(state, { plugin: plugin.name, point: 'Score' }, () => rawScores(plugin, state, input));
    timedCall(state, { plugin: plugin.name, point: 'ScoreExtensionNormalize' }, () =>
      plugin.normalize?.(state, pod, scores),
    );
    for (let i = 0; i < nodes.length; i++) totals[i] = (totals[i] ?? 0) + weight * (scores[i] ?? 0);
    parts.push({ plugin: plugin.name, weight, scores });
  }
  timer?.ended('Score', startedMs);
  return { nodes, totals, parts };
}

function rawScores(
  plugin: SchedulerPlugin,
  state: CycleState,
  { pod, nodes, memory }: { pod: Stored<Pod>; nodes: readonly NodeInfo[]; memory?: ClassMemory },
): Float64Array {
  const scores = new Float64Array(nodes.length);
  if (memory !== undefined && plugin.nodeLocal === true && plugin.scoresNeedMore !== true)
    memory.score(plugin, state, { pod, nodes, into: scores });
  else for (let i = 0; i < nodes.length; i++) scores[i] = plugin.score?.(state, pod, nodes[i] as NodeInfo) ?? 0;
  return scores;
}

/** Scales scores so that the greatest is 100; `reverse` turns the order. Upstream: helper.DefaultNormalizeScore. */
export function normalizeToHundred(scores: Float64Array, reverse: boolean): void {
  const greatest = scores.reduce((a, b) => Math.max(a, b), 0);
  for (let i = 0; i < scores.length; i++) {
    const scaled = greatest === 0 ? 0 : Math.floor((100 * (scores[i] ?? 0)) / greatest);
    scores[i] = greatest === 0 ? (reverse ? 100 : 0) : reverse ? 100 - scaled : scaled;
  }
}
