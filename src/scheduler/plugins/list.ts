/** All scheduler plugins. A new plugin is one folder and one line here. */
import type {
  BalancedAllocationArgs,
  DynamicResourcesArgs,
  FitArgs,
  InterPodAffinityArgs,
  NodeAffinityArgs,
  PreemptionArgs,
  SpreadArgs,
  VolumeBindingArgs,
} from '../config/plugin-args.ts';
import type { SchedulerPluginDeps } from '../framework/plugin-deps.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import { createBalancedAllocation } from './balanced-allocation/balanced-allocation.ts';
import { createDefaultBinder } from './default-binder/default-binder.ts';
import { createDefaultPreemption } from './default-preemption/default-preemption.ts';
import {
  createBalancedResourceAllocation,
  createEqualPriority,
  createLeastRequestedPriority,
} from './early-priorities/early-priorities.ts';
import { createDynamicResources } from './dynamic-resources/dynamic-resources.ts';
import { createImageLocality } from './image-locality/image-locality.ts';
import { createInterPodAffinity } from './inter-pod-affinity/inter-pod-affinity.ts';
import { createNodeAffinity } from './node-affinity/node-affinity.ts';
import { createNodeDeclaredFeatures } from './node-declared-features/node-declared-features.ts';
import { createNodeLabel, type NodeLabelArgs } from './node-label/node-label.ts';
import { createNodeName } from './node-name/node-name.ts';
import { createNodePorts } from './node-ports/node-ports.ts';
import { createNodeResourcesFit } from './node-resources-fit/node-resources-fit.ts';
import { createNodeUnschedulable } from './node-unschedulable/node-unschedulable.ts';
import { createNodeVolumeLimits } from './node-volume-limits/node-volume-limits.ts';
import { createPodTopologySpread } from './pod-topology-spread/pod-topology-spread.ts';
import { createPrioritySort } from './priority-sort/priority-sort.ts';
import { createSchedulingGates } from './scheduling-gates/scheduling-gates.ts';
import { createSelectorSpread } from './selector-spread/selector-spread.ts';
import { createServiceAffinity, type ServiceAffinityArgs } from './service-affinity/service-affinity.ts';
import { createTaintToleration } from './taint-toleration/taint-toleration.ts';
import { createVolumeBinding } from './volume-binding/volume-binding.ts';
import { createVolumeRestrictions } from './volume-restrictions/volume-restrictions.ts';
import { createVolumeZone } from './volume-zone/volume-zone.ts';

export interface PluginEntry {
  readonly name: string;
  /** The weight in the default profile; 0 for plugins that do not score. */
  readonly weight: number;
  /** `args`: the parsed arguments of the plugin; undefined: defaults. */
  readonly create: (deps: SchedulerPluginDeps, args?: unknown) => SchedulerPlugin;
}

/** The plugins of upstream's default profile, in its order. */
export const defaultPlugins: readonly PluginEntry[] = [
  { name: 'SchedulingGates', weight: 0, create: () => createSchedulingGates() },
  { name: 'PrioritySort', weight: 0, create: () => createPrioritySort() },
  { name: 'NodeUnschedulable', weight: 0, create: () => createNodeUnschedulable() },
  { name: 'NodeName', weight: 0, create: () => createNodeName() },
  { name: 'TaintToleration', weight: 3, create: () => createTaintToleration() },
  { name: 'NodeAffinity', weight: 2, create: (_d, args) => createNodeAffinity(args as NodeAffinityArgs | undefined) },
  { name: 'NodePorts', weight: 0, create: () => createNodePorts() },
  {
    name: 'NodeResourcesFit',
    weight: 1,
    create: (d, args) => createNodeResourcesFit(args as FitArgs | undefined, d),
  },
  { name: 'VolumeRestrictions', weight: 0, create: (d) => createVolumeRestrictions(d.claim) },
  {
    name: 'VolumeBinding',
    weight: 0,
    create: (d, args) => createVolumeBinding(d, args as VolumeBindingArgs | undefined),
  },
  { name: 'NodeVolumeLimits', weight: 0, create: (d) => createNodeVolumeLimits(d) },
  { name: 'VolumeZone', weight: 0, create: (d) => createVolumeZone(d.claim, d.volume) },
  {
    name: 'PodTopologySpread',
    weight: 2,
    create: (d, args) => createPodTopologySpread(d.siblings, args as SpreadArgs | undefined),
  },
  {
    name: 'InterPodAffinity',
    weight: 2,
    create: (d, args) => createInterPodAffinity(d.namespaceLabels, args as InterPodAffinityArgs | undefined),
  },
  // Before preemption: unused devices are released rather than pods evicted.
  {
    name: 'DynamicResources',
    weight: 2,
    create: (d, args) => createDynamicResources(d, args as DynamicResourcesArgs | undefined),
  },
  {
    name: 'DefaultPreemption',
    weight: 0,
    create: (d, args) => createDefaultPreemption(d, args as PreemptionArgs | undefined),
  },
  {
    name: 'NodeResourcesBalancedAllocation',
    weight: 1,
    create: (d, args) => createBalancedAllocation(args as BalancedAllocationArgs | undefined, d),
  },
  { name: 'ImageLocality', weight: 1, create: () => createImageLocality() },
  { name: 'DefaultBinder', weight: 0, create: (d) => createDefaultBinder(d.client) },
  { name: 'NodeDeclaredFeatures', weight: 0, create: () => createNodeDeclaredFeatures() },
];

const NO_LABELS: NodeLabelArgs = {
  presentLabels: [],
  absentLabels: [],
  presentLabelsPreference: [],
  absentLabelsPreference: [],
};
const NO_AFFINITY: ServiceAffinityArgs = { affinityLabels: [], antiAffinityLabelsPreference: [] };

/** Plugins that only policy files of the early releases use; they score 0 to 10. */
const earlyPlugins: readonly PluginEntry[] = [
  { name: 'LeastRequestedPriority', weight: 1, create: () => createLeastRequestedPriority() },
  { name: 'BalancedResourceAllocation', weight: 1, create: () => createBalancedResourceAllocation() },
  { name: 'EqualPriority', weight: 1, create: () => createEqualPriority() },
  { name: 'NodeLabel', weight: 1, create: (_d, args = NO_LABELS) => createNodeLabel(args as NodeLabelArgs) },
  {
    name: 'ServiceAffinity',
    weight: 1,
    create: (d, args = NO_AFFINITY) => createServiceAffinity(args as ServiceAffinityArgs, d.servicesOf),
  },
  {
    name: 'SelectorSpread',
    weight: 1,
    create: ({ siblings }) => createSelectorSpread({ name: 'SelectorSpread', siblings, zones: true }),
  },
  {
    name: 'ServiceSpreadingPriority',
    weight: 1,
    create: ({ serviceSiblings: siblings }) =>
      createSelectorSpread({ name: 'ServiceSpreadingPriority', siblings, zones: false }),
  },
];

/** Every plugin there is. */
export const knownPlugins: readonly PluginEntry[] = [...defaultPlugins, ...earlyPlugins];
