/** Explains why a replica set or replication controller lacks pods. */
import { ReplicaSets, ReplicationControllers } from '../../api/gen/resources.ts';
import type { ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { ReplicationController } from '../../api/gen/core-v1.ts';
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Evidence } from '../evidence.ts';
import type { Cause, Diagnosis } from '../explanation.ts';
import { ownedPods, unreadyPodCauses } from './owned-pods.ts';
import { refusedPodCauses } from './refused-pods.ts';

export function explainReplicaSet(set: ReplicaSet, evidence: Evidence): Promise<Diagnosis> {
  return explainReplicas({ info: ReplicaSets, owner: set, selector: set.spec?.selector }, evidence);
}

export function explainReplicationController(
  controller: ReplicationController,
  evidence: Evidence,
): Promise<Diagnosis> {
  const { selector } = controller.spec ?? {};
  const matchLabels = selector && { matchLabels: selector };
  return explainReplicas({ info: ReplicationControllers, owner: controller, selector: matchLabels }, evidence);
}

interface Replicas {
  readonly info: ResourceInfo;
  readonly owner: ReplicaSet | ReplicationController;
  readonly selector: LabelSelector | undefined;
}

async function explainReplicas({ info, owner: set, selector }: Replicas, evidence: Evidence): Promise<Diagnosis> {
  const wanted = set.spec?.replicas ?? 1;
  const ready = set.status?.readyReplicas ?? 0;
  const summary = `has ${ready} of ${wanted} pods ready`;
  if (ready >= wanted) return { state: 'Fine', summary, causes: [] };
  const pods = await ownedPods(set, selector, evidence);
  const causes: Cause[] = [
    ...(await refusedPodCauses(info, set, evidence)),
    ...(await unreadyPodCauses(pods, evidence)),
  ];
  return { state: causes.length === 0 ? 'Progressing' : 'Trouble', summary, causes };
}
