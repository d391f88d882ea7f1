// Types that have at most one of several fields set. Upstream: the +union markers of the API types.

import type { JsonObject } from '../codec/own-property.ts';

const union = (fields: Readonly<Record<string, string>>, discriminator?: string): JsonObject => ({
  ...(discriminator === undefined ? {} : { discriminator }),
  'fields-to-discriminateBy': fields,
});

/** `x-kubernetes-unions` by type. */
export const unions: Readonly<Record<string, JsonObject>> = {
  'core.v1.AppArmorProfile': union({ localhostProfile: 'LocalhostProfile' }, 'type'),
  'core.v1.PodSchedulingGroup': union({ podGroupName: 'PodGroupName' }),
  'core.v1.SeccompProfile': union({ localhostProfile: 'LocalhostProfile' }, 'type'),
  'flowcontrol.v1.LimitResponse': union({ queuing: 'Queuing' }, 'type'),
  'flowcontrol.v1.PriorityLevelConfigurationSpec': union({ exempt: 'Exempt', limited: 'Limited' }, 'type'),
  'flowcontrol.v1.Subject': union({ group: 'Group', serviceAccount: 'ServiceAccount', user: 'User' }, 'kind'),
  'scheduling.v1alpha2.PodGroupSchedulingPolicy': union({ basic: 'Basic', gang: 'Gang' }),
  'scheduling.v1alpha2.PodGroupTemplateReference': union({ workload: 'Workload' }),
};
