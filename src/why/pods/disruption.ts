/** Names the component that ended a pod, by the condition DisruptionTarget. */
import { Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { podCondition } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause } from '../explanation.ts';
import { nameOf, nameOfObject } from '../object-name.ts';

/** Cures by the reason of the condition. */
const CURES: Readonly<Record<string, string>> = {
  PreemptionByScheduler: 'raise the priority of this pod, or add nodes, so that both have room',
  DeletionByTaintManager: 'remove the taint of the node, or tolerate it in the pod',
  EvictionByEvictionAPI: 'somebody evicted it, as kubectl drain does',
  DeletionByPodGC: 'its node is gone; the owner of the pod creates another',
  TerminationByKubelet: 'see what its node ran short of, or whether it was shut down',
};

export async function disruptionCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const condition = podCondition(pod, 'DisruptionTarget');
  if (condition?.status !== 'True') return [];
  const { reason = '', message = '', lastTransitionTime } = condition;
  const text = CURES[reason];
  return [
    cause({
      code: reason === '' ? 'Disrupted' : reason,
      object: nameOfObject(Pods, pod),
      message: reason === '' ? 'the pod was ended' : `the pod was ended (${reason})`,
      since: lastTransitionTime ?? undefined,
      facts: message === '' ? [] : [message],
      cure: text === undefined ? undefined : { text },
      because: reason === 'PreemptionByScheduler' ? await preemptorCauses(pod, evidence) : [],
    }),
  ];
}

/** The preempting pod, which the scheduler's event names as its related object. */
async function preemptorCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const event = (await evidence.events(pod)).find(({ reason, related }) => reason === 'Preempted' && related?.name);
  const { namespace, name } = event?.related ?? {};
  if (namespace === undefined || name === undefined) return [];
  const { object: other } = await evidence.get(Pods, { namespace, name });
  const priorities = `priority ${other?.spec?.priority ?? 'not known'}, this one has ${pod.spec?.priority ?? 0}`;
  return [
    cause({
      code: 'Preempted',
      object: nameOf(Pods, { namespace, name }),
      message: `pod ${namespace}/${name} of a higher priority takes its room`,
      facts: [`its ${priorities}`],
      cure: { text: CURES['PreemptionByScheduler']! },
    }),
  ];
}
