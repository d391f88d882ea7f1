import { apiLoads } from './api-loads.ts';
import { fieldLoads } from './field-loads.ts';
import { kubeletLoads } from './kubelet-loads.ts';
import type { Load } from './load.ts';
import { schedulingLoads } from './scheduling-loads.ts';
import { serviceLoads } from './service-loads.ts';
import { workloadLoads } from './workload-loads.ts';

const pairLoads = [...workloadLoads, ...schedulingLoads, ...serviceLoads, ...kubeletLoads, ...apiLoads];

export const allLoads: readonly Load[] = [...pairLoads, ...fieldLoads];

/** Loads that take about a second or less each. */
const quick: ReadonlySet<string> = new Set([
  'claim templates × replicas',
  'requirements of one selector × pods',
  'budgets × pods',
  'devices × requests',
  'spread constraints × nodes',
  'services × services in the environment',
  'indexed jobs',
  'webhooks and their conditions',
  'selectors × alternatives × requests of a claim',
  'endpoints of many subsets',
  'image pull secrets',
  'quota scopes × objects',
  'pairs of lists of flowcontrol.apiserver.k8s.io/v1 FlowSchema',
  'anti-affinity terms NotIn × pods',
  'preferred affinity terms × pods',
  'namespace selectors of terms × namespaces',
  'numbers of v1 Pod',
  'numbers of v1 Service',
  'numbers of v1 ReplicationController',
  'numbers of apiextensions.k8s.io/v1 CustomResourceDefinition',
  'numbers of apps/v1 DaemonSet',
]);

export const quickLoads: readonly Load[] = allLoads.filter(({ name }) => quick.has(name));
