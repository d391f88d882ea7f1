/** Why a daemon set does not run on every node it is meant for. */
import { DaemonSets } from '../../api/gen/resources.ts';
import type { DaemonSet } from '../../api/gen/apps-v1.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { isObserved, notObservedCause } from './observed.ts';
import { onDeleteCause } from './on-delete.ts';
import { ownedPods, unreadyPodCauses } from './owned-pods.ts';
import { refusedPodCauses } from './refused-pods.ts';

export async function explainDaemonSet(set: DaemonSet, evidence: Evidence): Promise<Diagnosis> {
  const { desiredNumberScheduled = 0, numberReady = 0, updatedNumberScheduled = 0 } = set.status ?? {};
  const summary = `is ready on ${numberReady} of ${desiredNumberScheduled} nodes, ${updatedNumberScheduled} of the newest template`;
  if (!isObserved(set)) return { state: 'Trouble', summary, causes: [notObservedCause(DaemonSets, set)] };
  if (desiredNumberScheduled === 0) return { state: 'Trouble', summary, causes: [noNodeCause(set)] };
  const isUpdated = updatedNumberScheduled >= desiredNumberScheduled || set.spec?.updateStrategy?.type === 'OnDelete';
  if (numberReady >= desiredNumberScheduled && isUpdated) {
    const causes =
      updatedNumberScheduled < desiredNumberScheduled ? [onDeleteCause(nameOfObject(DaemonSets, set))] : [];
    return { state: 'Fine', summary, causes };
  }
  const pods = await ownedPods(set, set.spec?.selector, evidence);
  const causes = [...(await refusedPodCauses(DaemonSets, set, evidence)), ...(await unreadyPodCauses(pods, evidence))];
  return { state: causes.length === 0 ? 'Progressing' : 'Trouble', summary, causes };
}

function noNodeCause(set: DaemonSet): Cause {
  return cause({
    code: 'NoNodeMatches',
    object: nameOfObject(DaemonSets, set),
    message: 'no node matches its node selector and affinity, or all have taints that it does not tolerate',
    cure: { text: 'label a node as its template asks', command: 'kubectl get nodes --show-labels' },
  });
}
