import { ClusterRoles } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** The rules of roles that gather others. */
export const clusterRoleAggregationWrites: ExclusiveWrites = {
  account: 'clusterrole-aggregation-controller',
  writes: [{ resource: ClusterRoles, fields: [['rules']], where: (role) => 'aggregationRule' in role }],
};
