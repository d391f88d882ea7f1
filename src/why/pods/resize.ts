/** Explains why a resize of a running pod has not been completed. */
import { Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { podCondition } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';

const CURES: Readonly<Record<string, string>> = {
  Deferred: 'end other pods of the node: the kubelet grants the resize when there is room',
  Infeasible: 'ask for less than the node has, or create the pod anew elsewhere',
  Error: 'mend what the message names; the kubelet tries again by itself',
};

export async function resizeCauses(pod: Pod, _evidence: Evidence): Promise<readonly Cause[]> {
  return ['PodResizePending', 'PodResizeInProgress'].flatMap((type) => {
    const condition = podCondition(pod, type);
    const { reason = '', message = '', lastTransitionTime } = condition ?? {};
    // A resize in progress without a reason has no obstacle.
    if (condition?.status !== 'True' || reason === '') return [];
    const cure = CURES[reason];
    return [
      cause({
        code: `Resize${reason}`,
        object: nameOfObject(Pods, pod),
        message: `the change of its resources is not made (${reason})`,
        since: lastTransitionTime ?? undefined,
        facts: message === '' ? [] : [message],
        cure: cure === undefined ? undefined : { text: cure },
      }),
    ];
  });
}
