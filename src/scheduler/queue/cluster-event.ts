/** What happens in a cluster that may make pods schedulable. Upstream: framework.ClusterEvent. */

/** The kind of object and what happened to it. */
export type ClusterEvent =
  | 'node/add'
  | 'node/update-allocatable'
  | 'node/update-label'
  | 'node/update-taint'
  | 'node/update-condition'
  | 'node/delete'
  | 'assigned-pod/add'
  | 'assigned-pod/update'
  | 'assigned-pod/delete'
  | 'pod/update'
  | 'storage'
  | 'resource-claim'
  | 'namespace/update';

/** What metrics call them: upstream's resource and action. Storage is one event here, of many kinds there. */
export const eventLabels: Readonly<Record<ClusterEvent, string>> = {
  'node/add': 'NodeAdd',
  'node/update-allocatable': 'NodeUpdateNodeAllocatable',
  'node/update-label': 'NodeUpdateNodeLabel',
  'node/update-taint': 'NodeUpdateNodeTaint',
  'node/update-condition': 'NodeUpdateNodeCondition',
  'node/delete': 'NodeDelete',
  'assigned-pod/add': 'AssignedPodAdd',
  'assigned-pod/update': 'AssignedPodUpdate',
  'assigned-pod/delete': 'AssignedPodDelete',
  'pod/update': 'UnschedulablePodUpdate',
  storage: 'StorageUpdate',
  'resource-claim': 'ResourceClaimUpdate',
  'namespace/update': 'NamespaceUpdate',
};
