/** Why a pod has failed: who ended it, or which container did. */
import { Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { podCondition } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Cure } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { terminationCause } from './termination.ts';

/** By `status.reason`, as the kubelet and controllers write it. */
const BY_REASON: Readonly<Record<string, Cure>> = {
  Evicted: {
    text: 'free what the node ran short of, or give the pod requests (and limits) as large as what it really uses',
  },
  DeadlineExceeded: { text: 'raise activeDeadlineSeconds, or make the work shorter' },
  NodeAffinity: { text: 'the labels of the node no longer match; let the owner create another pod' },
  Terminated: { text: 'the node was shut down; the owner of the pod creates another' },
  UnexpectedAdmissionError: { text: 'read the log of the kubelet of its node' },
};

/** By the reason of the condition DisruptionTarget. */
const BY_DISRUPTION: Readonly<Record<string, string>> = {
  PreemptionByScheduler: 'raise the priority of this pod, or add nodes, so that both have room',
  DeletionByTaintManager: 'remove the taint of the node, or tolerate it in the pod',
  EvictionByEvictionAPI: 'somebody evicted it, as kubectl drain does',
  DeletionByPodGC: 'its node is gone; the owner of the pod creates another',
  TerminationByKubelet: 'see what its node ran short of, or whether it was shut down',
};

export async function endCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  const { reason = '', message = '' } = pod.status ?? {};
  const disruption = podCondition(pod, 'DisruptionTarget');
  const causes: Cause[] = [];
  if (reason !== '') causes.push(endedBy(pod, reason, message, BY_REASON[reason]));
  if (disruption?.status === 'True' && reason !== 'Evicted') {
    const text = BY_DISRUPTION[disruption.reason ?? ''];
    causes.push(
      endedBy(
        pod,
        disruption.reason ?? 'Disrupted',
        disruption.message ?? '',
        text === undefined ? undefined : { text },
      ),
    );
  }
  if (causes.length > 0) return causes;
  for (const status of [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])])
    if (status.state?.terminated !== undefined && status.state.terminated.exitCode !== 0)
      causes.push(
        await terminationCause(pod, { status, terminated: status.state.terminated, previous: false }, evidence),
      );
  return causes;
}

function endedBy(pod: Pod, code: string, message: string, cure: Cure | undefined): Cause {
  return cause({
    code,
    object: nameOfObject(Pods, pod),
    message: message === '' ? `the pod was ended: ${code}` : `the pod was ended (${code})`,
    ...(message === '' ? {} : { facts: [message] }),
    cure,
  });
}
