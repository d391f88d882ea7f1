/** Why a replica set has not the pods it is to have. */
import { ReplicaSets } from '../../api/gen/resources.ts';
import type { ReplicaSet } from '../../api/gen/apps-v1.ts';
import type { Evidence } from '../evidence.ts';
import type { Cause, Diagnosis } from '../explanation.ts';
import { ownedPods, unreadyPodCauses } from './owned-pods.ts';
import { refusedPodCauses } from './refused-pods.ts';

export async function explainReplicaSet(set: ReplicaSet, evidence: Evidence): Promise<Diagnosis> {
  const wanted = set.spec?.replicas ?? 1;
  const ready = set.status?.readyReplicas ?? 0;
  const summary = `has ${ready} of ${wanted} pods ready`;
  if (ready >= wanted) return { state: 'Fine', summary, causes: [] };
  const pods = await ownedPods(set, set.spec?.selector, evidence);
  const causes: Cause[] = [
    ...(await refusedPodCauses(ReplicaSets, set, evidence)),
    ...(await unreadyPodCauses(pods, evidence)),
  ];
  return { state: causes.length === 0 ? 'Progressing' : 'Trouble', summary, causes };
}
