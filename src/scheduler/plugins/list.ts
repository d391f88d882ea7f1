/** All scheduler plugins in the order of upstream's default profile, with their score weights. A new plugin: one folder and one line here. */
import type { Client } from '../../client/client.ts';
import type { SchedulerPlugin } from '../framework/plugin.ts';
import { createBalancedAllocation } from './balanced-allocation/balanced-allocation.ts';
import { createDefaultBinder } from './default-binder/default-binder.ts';
import { createNodeAffinity } from './node-affinity/node-affinity.ts';
import { createNodeName } from './node-name/node-name.ts';
import { createNodePorts } from './node-ports/node-ports.ts';
import { createNodeResourcesFit } from './node-resources-fit/node-resources-fit.ts';
import { createNodeUnschedulable } from './node-unschedulable/node-unschedulable.ts';
import { createPrioritySort } from './priority-sort/priority-sort.ts';
import { createSchedulingGates } from './scheduling-gates/scheduling-gates.ts';
import { createTaintToleration } from './taint-toleration/taint-toleration.ts';

/** What plugins may use. */
export interface SchedulerPluginDeps {
  readonly client: Client;
}

/** The plugins, each with its weight in scoring (0: does not score). */
export const schedulerPlugins: readonly { readonly create: (deps: SchedulerPluginDeps) => SchedulerPlugin; readonly weight: number }[] = [
  { create: () => createSchedulingGates(), weight: 0 },
  { create: () => createPrioritySort(), weight: 0 },
  { create: () => createNodeUnschedulable(), weight: 0 },
  { create: () => createNodeName(), weight: 0 },
  { create: () => createTaintToleration(), weight: 3 },
  { create: () => createNodeAffinity(), weight: 2 },
  { create: () => createNodePorts(), weight: 0 },
  { create: () => createNodeResourcesFit(), weight: 1 },
  { create: () => createBalancedAllocation(), weight: 1 },
  { create: (d) => createDefaultBinder(d.client), weight: 0 },
];
