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
  | 'namespace/update'
  | 'forced';
