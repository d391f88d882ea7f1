/**
 * What must agree once a cluster is at rest: statuses count the existing objects, endpoints are the ready pods, dependents of
 * deleted owners are gone, and the machines run the containers of the API server's pods. Checks whose component is stopped,
 * disconnected or was never started are skipped.
 */
import { PersistentVolumeClaims, PersistentVolumes } from '../api/gen/resources.ts';
import type { Cluster } from './cluster.ts';
import { type Check, nameOf } from './agreement/comparisons.ts';
import { budgets, cronJobs, daemonSets, deployments, jobs, replicaSets, statefulSets } from './agreement/workloads.ts';
import { addresses, endpoints } from './agreement/network.ts';
import { devices } from './agreement/devices.ts';
import { machines, podsOfNoNode, podsOverdue, taints } from './agreement/nodes.ts';
import { outlivedNamespaces, outlivedOwners } from './agreement/leftovers.ts';

/**
 * Every disagreement in words; empty when there is none.
 * @param works whether a controller is working; checks that depend on one that is not are skipped
 */
export function disagreements(
  cluster: Cluster,
  works: (controller: string) => boolean = (controller) => cluster.faults.works(controller),
): string[] {
  return CHECKS.flatMap(([controller, check]) => (controller === 'kubelet' || works(controller) ? check(cluster) : []));
}

/** Each check with the controller responsible; kubelets are checked one by one. */
const CHECKS: readonly (readonly [controller: string, Check])[] = [
  ['replicaset-controller', replicaSets],
  ['deployment-controller', deployments],
  ['statefulset-controller', statefulSets],
  ['daemonset-controller', daemonSets],
  ['job-controller', jobs],
  ['cronjob-controller', cronJobs],
  ['disruption-controller', budgets],
  ['endpointslice-controller', endpoints],
  ['persistentvolume-binder-controller', claims],
  ['pod-garbage-collector-controller', podsOfNoNode],
  ['kubelet', podsOverdue],
  ['kubelet', addresses],
  ['kubelet', machines],
  ['kubelet', devices],
  ['node-lifecycle-controller', taints],
  ['namespace-controller', outlivedNamespaces],
  ['garbage-collector-controller', outlivedOwners],
];

function claims(cluster: Cluster): string[] {
  const volumes = cluster.peek(PersistentVolumes);
  const held = cluster.peek(PersistentVolumeClaims).flatMap((claim) => {
    const mine = volumes.filter(({ spec }) => spec?.claimRef?.uid === claim.metadata.uid);
    const bound = claim.status?.phase === 'Bound' ? 1 : 0;
    return mine.length === bound
      ? []
      : [`${nameOf(claim)} is ${claim.status?.phase}, and ${mine.length} volumes are its`];
  });
  const uids = new Set(cluster.peek(PersistentVolumeClaims).map(({ metadata }) => metadata.uid));
  const left = volumes.filter(({ spec, status }) => status?.phase === 'Bound' && !uids.has(spec?.claimRef?.uid ?? ''));
  return [...held, ...left.map((volume) => `${nameOf(volume)} is Bound to a claim that is not there`)];
}
