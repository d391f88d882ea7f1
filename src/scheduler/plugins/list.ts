/** All scheduler plugins in the order of upstream's default profile, with their score weights. A new plugin: one folder and one line here. */
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

/** The plugins, each with its weight in scoring (0: does not score). */
export const schedulerPlugins: readonly {
  readonly create: (deps: SchedulerPluginDeps) => SchedulerPlugin;
  readonly weight: number;
}[] = [
  { create: () => createSchedulingGates(), weight: 0 },
  { create: () => createPrioritySort(), weight: 0 },
  { create: () => createNodeUnschedulable(), weight: 0 },
  { create: () => createNodeName(), weight: 0 },
  { create: () => createTaintToleration(), weight: 3 },
  { create: () => createNodeAffinity(), weight: 2 },
  { create: () => createNodePorts(), weight: 0 },
  { create: () => createNodeResourcesFit(), weight: 1 },
  { create: (d) => createVolumeRestrictions(d.claim), weight: 0 },
  { create: (d) => createVolumeBinding(d), weight: 0 },
  { create: (d) => createVolumeZone(d.claim, d.volume), weight: 0 },
  { create: (d) => createPodTopologySpread(d.siblings), weight: 2 },
  { create: (d) => createInterPodAffinity(d.namespaceLabels), weight: 2 },
  { create: (d) => createDefaultPreemption(d), weight: 0 },
  { create: () => createBalancedAllocation(), weight: 1 },
  { create: () => createImageLocality(), weight: 1 },
  { create: (d) => createDefaultBinder(d.client), weight: 0 },
];
