/**
 * What must agree once a cluster is at rest: what statuses count is there, endpoints are the ready pods, what an owner left
 * behind is gone, and the machines run what the API server says they run. Where no part does the work (it was ended and
 * not started again, or is cut off, or was never there) nothing is asked.
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
 * Every disagreement, in words; none when all is well.
 * @param works whether a controller does its work; what depends on one that does not is left out
 */
export function disagreements(
  cluster: Cluster,
  works: (controller: string) => boolean = (controller) => cluster.faults.works(controller),
): string[] {
  return CHECKS.flatMap(([controller, check]) => (controller === 'kubelet' || works(controller) ? check(cluster) : []));
}

/** Each with the controller that sees to it; kubelets are looked at one by one. */
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
