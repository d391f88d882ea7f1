import { apiLoads } from './api-loads.ts';
import { kubeletLoads } from './kubelet-loads.ts';
import type { Load } from './load.ts';
import { schedulingLoads } from './scheduling-loads.ts';
import { serviceLoads } from './service-loads.ts';
import { workloadLoads } from './workload-loads.ts';

export const allLoads: readonly Load[] = [
  ...workloadLoads,
  ...schedulingLoads,
  ...serviceLoads,
  ...kubeletLoads,
  ...apiLoads,
];
