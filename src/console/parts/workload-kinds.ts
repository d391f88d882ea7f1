/** The kinds of objects that own pods. */
export const WORKLOADS: readonly string[] = [
  'deployments.apps',
  'replicasets.apps',
  'statefulsets.apps',
  'daemonsets.apps',
  'jobs.batch',
  'cronjobs.batch',
  'replicationcontrollers',
];
