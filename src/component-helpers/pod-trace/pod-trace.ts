/** The timeline of a pod's start: the API server serves it, the command line shows it. */
import { roundToMicroseconds } from '../../base/round-to-microseconds.ts';
import { formatMicroTime } from '../../api/time.ts';
import type { ComponentSteps, TraceStep } from './trace-step.ts';

/** A step as users see it. */
export interface PodTraceStep {
  readonly component: string;
  /** How many steps of the same component contain this one. */
  readonly depth: number;
  readonly name: string;
  /** RFC 3339 with microseconds. */
  readonly start: string;
  /** Absent while the step is in progress. */
  readonly end?: string | undefined;
  /** Between the pod's creation and this step's start. */
  readonly offsetMs: number;
  readonly durationMs?: number | undefined;
  readonly detail?: string | undefined;
  readonly error?: string | undefined;
}

/** The timeline of one pod. */
export interface PodTrace {
  readonly apiVersion: 'keelson/v1';
  readonly kind: 'PodTrace';
  readonly metadata: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly nodeName?: string | undefined;
  /** When the request that created the pod arrived; precise to the second where another server received it. */
  readonly created: string;
  /** When the API had the pod as ready or finished. Absent: not yet, or not recorded. */
  readonly ready?: string | undefined;
  readonly durationMs?: number | undefined;
  /** The fraction of the time between both that steps account for, 0 to 1. A step that contains others counts without them. */
  readonly accountedFor?: number | undefined;
  readonly steps: readonly PodTraceStep[];
  /** The parts that could not be read, with the reasons. */
  readonly missing: readonly string[];
}

export interface TraceSources {
  readonly metadata: PodTrace['metadata'];
  readonly nodeName?: string | undefined;
  /** The creation time where no component reports it. */
  readonly createdMs: number;
  /** In the order of the waterfall. */
  readonly components: readonly ComponentSteps[];
  readonly missing: readonly string[];
}

/** Combines the steps of the components. */
export function podTrace({ metadata, nodeName, createdMs, components, missing }: TraceSources): PodTrace {
  const firsts = components.flatMap(({ steps }) => (steps[0] === undefined ? [] : [steps[0].startMs]));
  const startMs = firsts.length === 0 ? createdMs : firsts.reduce((a, b) => Math.min(a, b));
  const readyMs = components.findLast(({ finishedMs }) => finishedMs !== undefined)?.finishedMs;
  const parts = components.map((component) => ({ ...component, steps: withDeliveries(component, components) }));
  const total = readyMs === undefined ? undefined : Math.max(readyMs - startMs, 0);
  const leaves = parts.flatMap(({ steps }) => leavesOf(steps));
  return {
    apiVersion: 'keelson/v1',
    kind: 'PodTrace',
    metadata,
    nodeName,
    created: formatMicroTime(startMs),
    ready: readyMs === undefined ? undefined : formatMicroTime(readyMs),
    durationMs: total === undefined ? undefined : roundToMicroseconds(total),
    accountedFor: readyMs === undefined ? undefined : coveredShare(leaves, startMs, readyMs),
    steps: parts.flatMap(({ component, steps }) =>
      inTreeOrder(steps).map(({ step, depth }) => traceStepOf(step, { component, depth, startMs })),
    ),
    missing: [
      ...missing,
      ...components.flatMap(({ component, dropped }) =>
        dropped === undefined ? [] : [`${component}: ${dropped} steps between the first and the last were not kept`],
      ),
    ],
  };
}

/** The pod reaches the next component through a watch, which is a step too. */
function withDeliveries(to: ComponentSteps, all: readonly ComponentSteps[]): readonly TraceStep[] {
  const from = DELIVERIES[to.component];
  const first = to.steps[0];
  if (from === undefined || first === undefined) return to.steps;
  const written = all
    .filter(({ component }) => component === from.component)
    .flatMap(({ steps }) =>
      steps.filter(
        ({ name, parent }) => name === 'store' && parent !== undefined && steps[parent]?.name === from.request,
      ),
    )
    .at(-1)?.endMs;
  if (written === undefined || written >= first.startMs) return to.steps;
  const delivery = { name: 'watch', startMs: written, endMs: first.startMs, detail: from.detail };
  return [
    delivery,
    ...to.steps.map((step) => (step.parent === undefined ? step : { ...step, parent: step.parent + 1 })),
  ];
}

const DELIVERIES: Readonly<Record<string, { component: string; request: string; detail: string }>> = {
  'kube-scheduler': { component: 'kube-apiserver', request: 'create', detail: 'the pod reaches the scheduler' },
  kubelet: { component: 'kube-apiserver', request: 'bind', detail: 'the pod reaches its node' },
};

/** Steps without steps inside them. */
function leavesOf(steps: readonly TraceStep[]): readonly TraceStep[] {
  const parents = new Set(steps.map(({ parent }) => parent));
  return steps.filter((_, index) => !parents.has(index));
}

/** The share of a time span that the steps cover together. */
function coveredShare(steps: readonly TraceStep[], fromMs: number, toMs: number): number {
  if (toMs <= fromMs) return 1;
  let [sum, reached] = [0, fromMs];
  for (const { startMs, endMs = toMs } of steps.toSorted((a, b) => a.startMs - b.startMs)) {
    const end = Math.min(endMs, toMs);
    if (end > reached) sum += end - Math.max(startMs, reached);
    reached = Math.max(reached, end);
  }
  return Math.round((sum / (toMs - fromMs)) * 10_000) / 10_000;
}

/** Each step before those within it, otherwise by their starts. */
function inTreeOrder(steps: readonly TraceStep[]): readonly { readonly step: TraceStep; readonly depth: number }[] {
  const children = Map.groupBy(steps.keys(), (index) => steps[index]!.parent);
  const below = (parent: number | undefined, depth: number): { step: TraceStep; depth: number }[] =>
    (children.get(parent) ?? [])
      .toSorted((a, b) => steps[a]!.startMs - steps[b]!.startMs)
      .flatMap((index) => [{ step: steps[index]!, depth }, ...below(index, depth + 1)]);
  return below(undefined, 0);
}

function traceStepOf(
  { name, startMs: beganMs, endMs, detail, error }: TraceStep,
  { component, depth, startMs }: { readonly component: string; readonly depth: number; readonly startMs: number },
): PodTraceStep {
  return {
    component,
    depth,
    name,
    start: formatMicroTime(beganMs),
    end: endMs === undefined ? undefined : formatMicroTime(endMs),
    offsetMs: roundToMicroseconds(beganMs - startMs),
    durationMs: endMs === undefined ? undefined : roundToMicroseconds(endMs - beganMs),
    detail,
    error,
  };
}
