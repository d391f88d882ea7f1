/** All scheduler plugins. A new plugin: one folder and one line here. */
import type { SchedulerPluginDeps } from '../framework/plugin-deps.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import { createBalancedAllocation } from './balanced-allocation/balanced-allocation.ts';
import { createDefaultBinder } from './default-binder/default-binder.ts';
import { createDefaultPreemption } from './default-preemption/default-preemption.ts';
import { createImageLocality } from './image-locality/image-locality.ts';
import { createInterPodAffinity } from './inter-pod-affinity/inter-pod-affinity.ts';
import { createNodeAffinity } from './node-affinity/node-affinity.ts';
import { createNodeName } from './node-name/node-name.ts';
import { createNodePorts } from './node-ports/node-ports.ts';
import { createNodeResourcesFit } from './node-resources-fit/node-resources-fit.ts';
import { createNodeUnschedulable } from './node-unschedulable/node-unschedulable.ts';
import { createPodTopologySpread } from './pod-topology-spread/pod-topology-spread.ts';
import { createPrioritySort } from './priority-sort/priority-sort.ts';
import { createSchedulingGates } from './scheduling-gates/scheduling-gates.ts';
import { createTaintToleration } from './taint-toleration/taint-toleration.ts';
import { createVolumeBinding } from './volume-binding/volume-binding.ts';
import { createVolumeRestrictions } from './volume-restrictions/volume-restrictions.ts';
import { createVolumeZone } from './volume-zone/volume-zone.ts';

/** A plugin there is. */
export interface PluginEntry {
  readonly name: string;
  /** In the default profile: 0 for those that do not score. */
  readonly weight: number;
  readonly create: (deps: SchedulerPluginDeps) => SchedulerPlugin;
}

/** Those of upstream's default profile, in its order. */
export const defaultPlugins: readonly PluginEntry[] = [
  { name: 'SchedulingGates', weight: 0, create: () => createSchedulingGates() },
  { name: 'PrioritySort', weight: 0, create: () => createPrioritySort() },
  { name: 'NodeUnschedulable', weight: 0, create: () => createNodeUnschedulable() },
  { name: 'NodeName', weight: 0, create: () => createNodeName() },
  { name: 'TaintToleration', weight: 3, create: () => createTaintToleration() },
  { name: 'NodeAffinity', weight: 2, create: () => createNodeAffinity() },
  { name: 'NodePorts', weight: 0, create: () => createNodePorts() },
  { name: 'NodeResourcesFit', weight: 1, create: () => createNodeResourcesFit() },
  { name: 'VolumeRestrictions', weight: 0, create: (d) => createVolumeRestrictions(d.claim) },
  { name: 'VolumeBinding', weight: 0, create: (d) => createVolumeBinding(d) },
  { name: 'VolumeZone', weight: 0, create: (d) => createVolumeZone(d.claim, d.volume) },
  { name: 'PodTopologySpread', weight: 2, create: (d) => createPodTopologySpread(d.siblings) },
  { name: 'InterPodAffinity', weight: 2, create: (d) => createInterPodAffinity(d.namespaceLabels) },
  { name: 'DefaultPreemption', weight: 0, create: (d) => createDefaultPreemption(d) },
  { name: 'NodeResourcesBalancedAllocation', weight: 1, create: () => createBalancedAllocation() },
  { name: 'ImageLocality', weight: 1, create: () => createImageLocality() },
  { name: 'DefaultBinder', weight: 0, create: (d) => createDefaultBinder(d.client) },
];
