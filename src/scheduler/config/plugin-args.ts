/**
 * Arguments of plugins: types, defaults, parsing and validation. Upstream: config/types_pluginargs.go and
 * validation_pluginargs.go.
 */
import type { NodeAffinity, TopologySpreadConstraint } from '../../api/gen/core-v1.ts';
import type { Fields } from './fields.ts';

/** A resource and its weight in the score. */
export interface WeightedResource {
  readonly name: string;
  readonly weight: number;
}

/** A corner of a piecewise linear function: utilization 0 to 100, score 0 to 10. */
export interface ShapePoint {
  readonly utilization: number;
  readonly score: number;
}

/** NodeResourcesFit. */
export interface FitArgs {
  readonly ignoredResources: readonly string[];
  readonly ignoredResourceGroups: readonly string[];
  readonly strategy: 'LeastAllocated' | 'MostAllocated' | 'RequestedToCapacityRatio';
  readonly resources: readonly WeightedResource[];
  readonly shape: readonly ShapePoint[];
}

/** NodeResourcesBalancedAllocation. */
export interface BalancedAllocationArgs {
  readonly resources: readonly WeightedResource[];
}

export interface InterPodAffinityArgs {
  readonly hardPodAffinityWeight: number;
  readonly ignorePreferredTermsOfExistingPods: boolean;
}

export interface NodeAffinityArgs {
  /** Added to the node affinity of every pod of the profile. */
  readonly addedAffinity?: NodeAffinity;
}

/** PodTopologySpread. */
export interface SpreadArgs {
  /** Undefined: upstream's system defaults. */
  readonly defaultConstraints?: readonly TopologySpreadConstraint[];
}

/** DefaultPreemption. */
export interface PreemptionArgs {
  readonly minCandidateNodesPercentage: number;
  readonly minCandidateNodesAbsolute: number;
}

export interface VolumeBindingArgs {
  readonly bindTimeoutMs: number;
  /** Absent: the plugin does not score. */
  readonly shape?: readonly ShapePoint[];
}

export interface DynamicResourcesArgs {
  /** Limits the search for devices on one node; 0: no limit. */
  readonly filterTimeoutMs: number;
  /** Limits the wait for devices that are prepared after their allocation. */
  readonly bindingTimeoutMs: number;
}

const CPU_AND_MEMORY: readonly WeightedResource[] = [
  { name: 'cpu', weight: 1 },
  { name: 'memory', weight: 1 },
];

export const defaultArgs = {
  fit: {
    ignoredResources: [],
    ignoredResourceGroups: [],
    strategy: 'LeastAllocated',
    resources: CPU_AND_MEMORY,
    shape: [],
  } as FitArgs,
  balancedAllocation: { resources: CPU_AND_MEMORY } as BalancedAllocationArgs,
  interPodAffinity: { hardPodAffinityWeight: 1, ignorePreferredTermsOfExistingPods: false } as InterPodAffinityArgs,
  nodeAffinity: {} as NodeAffinityArgs,
  spread: {} as SpreadArgs,
  preemption: { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 } as PreemptionArgs,
  volumeBinding: { bindTimeoutMs: 600_000 } as VolumeBindingArgs,
  dynamicResources: { filterTimeoutMs: 10_000, bindingTimeoutMs: 600_000 } as DynamicResourcesArgs,
};

/** Readers by the plugin whose arguments they read. */
export const argReaders: Readonly<Record<string, (args: Fields) => unknown>> = {
  NodeResourcesFit: readFit,
  NodeResourcesBalancedAllocation: (args): BalancedAllocationArgs => ({ resources: readResources(args) }),
  InterPodAffinity: (args): InterPodAffinityArgs => ({
    hardPodAffinityWeight: args.number('hardPodAffinityWeight', 1, { min: 0, max: 100 }),
    ignorePreferredTermsOfExistingPods: args.bool('ignorePreferredTermsOfExistingPods', false),
  }),
  NodeAffinity: readNodeAffinity,
  PodTopologySpread: readSpread,
  DefaultPreemption: readPreemption,
  VolumeBinding: readVolumeBinding,
  DynamicResources: readDynamicResources,
};

function readResources(args: Fields): readonly WeightedResource[] {
  if (!args.has('resources')) return CPU_AND_MEMORY;
  return args.objects('resources').map((entry) => {
    const name = entry.text('name', '');
    if (name === '') entry.required('name');
    const weight = entry.number('weight', 1, { min: 1, max: 100 });
    entry.finish();
    return { name, weight };
  });
}

function readFit(args: Fields): FitArgs {
  const strategy = args.object('scoringStrategy');
  const kind = strategy.word('type', ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio'], 'LeastAllocated');
  const resources = readResources(strategy);
  const ratio = strategy.object('requestedToCapacityRatio');
  const shape = readShape(ratio, kind === 'RequestedToCapacityRatio');
  ratio.finish();
  strategy.finish();
  const ignoredResourceGroups = args.texts('ignoredResourceGroups');
  ignoredResourceGroups.forEach((group, i) => {
    if (group.includes('/'))
      args.invalid(`ignoredResourceGroups[${i}]`, group, "resource group name can't contain '/'");
  });
  return {
    ignoredResources: args.texts('ignoredResources'),
    ignoredResourceGroups,
    strategy: kind,
    resources,
    shape,
  };
}

/** Utilization must rise from point to point. */
function readShape(parent: Fields, needed: boolean): readonly ShapePoint[] {
  const points = parent.objects('shape').map((point) => {
    const utilization = point.number('utilization', 0, { min: 0, max: 100 });
    const score = point.number('score', 0, { min: 0, max: 10 });
    point.finish();
    return { utilization, score };
  });
  if (needed && points.length === 0) parent.required('shape');
  for (let i = 1; i < points.length; i++) {
    const utilization = points[i]?.utilization ?? 0;
    if ((points[i - 1]?.utilization ?? 0) >= utilization)
      parent.invalid(`shape[${i}].utilization`, utilization, 'utilization values must be sorted in increasing order');
  }
  return points;
}

function readNodeAffinity(args: Fields): NodeAffinityArgs {
  const added = args.object('addedAffinity');
  if (!args.has('addedAffinity')) return {};
  const required = added.raw('requiredDuringSchedulingIgnoredDuringExecution');
  const preferred = added.raw('preferredDuringSchedulingIgnoredDuringExecution');
  added.finish();
  const terms = (required as { nodeSelectorTerms?: unknown } | undefined)?.nodeSelectorTerms;
  if (required !== undefined && (!Array.isArray(terms) || terms.length === 0))
    added.required('requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms');
  return {
    addedAffinity: {
      ...(required === undefined ? {} : { requiredDuringSchedulingIgnoredDuringExecution: required }),
      ...(preferred === undefined ? {} : { preferredDuringSchedulingIgnoredDuringExecution: preferred }),
    } as NodeAffinity,
  };
}

function readSpread(args: Fields): SpreadArgs {
  const list = args.has('defaultConstraints');
  const defaulting = args.word('defaultingType', ['List', 'System'], list ? 'List' : 'System');
  const constraints = args.objects('defaultConstraints').map((entry): TopologySpreadConstraint => {
    const topologyKey = entry.text('topologyKey', '');
    if (topologyKey === '') entry.required('topologyKey');
    if (entry.has('labelSelector'))
      entry.problems.push(
        `${entry.at('labelSelector')}: Forbidden: constraint must not define a selector, as they deduced for each pod`,
      );
    const made = {
      topologyKey,
      maxSkew: entry.number('maxSkew', 0, { min: 1, max: 2 ** 31 - 1 }),
      whenUnsatisfiable: entry.word('whenUnsatisfiable', ['DoNotSchedule', 'ScheduleAnyway'], 'DoNotSchedule'),
    };
    entry.finish();
    return made;
  });
  if (defaulting === 'System' && constraints.length > 0)
    args.invalid('defaultingType', defaulting, 'when .defaultConstraints are not empty');
  return defaulting === 'System' ? {} : { defaultConstraints: constraints };
}

function readPreemption(args: Fields): PreemptionArgs {
  const made = {
    minCandidateNodesPercentage: args.number('minCandidateNodesPercentage', 10, { min: 0, max: 100 }),
    minCandidateNodesAbsolute: args.number('minCandidateNodesAbsolute', 100, { min: 0 }),
  };
  if (made.minCandidateNodesPercentage === 0 && made.minCandidateNodesAbsolute === 0)
    args.invalid(
      'minCandidateNodesAbsolute',
      0,
      'minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be zero',
    );
  return made;
}

function readVolumeBinding(args: Fields): VolumeBindingArgs {
  const seconds = args.number('bindTimeoutSeconds', 600, { min: 0 });
  const shape = readShape(args, false);
  return { bindTimeoutMs: seconds * 1000, shape: shape.length === 0 ? undefined : shape };
}

function readDynamicResources(args: Fields): DynamicResourcesArgs {
  const filterTimeoutMs = args.durationMs('filterTimeout', defaultArgs.dynamicResources.filterTimeoutMs);
  if (filterTimeoutMs < 0) args.invalid('filterTimeout', args.raw('filterTimeout'), 'must be zero or greater');
  const bindingTimeoutMs = args.durationMs('bindingTimeout', defaultArgs.dynamicResources.bindingTimeoutMs);
  if (bindingTimeoutMs < 1000) args.invalid('bindingTimeout', args.raw('bindingTimeout'), 'must be at least 1 second');
  return { filterTimeoutMs, bindingTimeoutMs };
}
