/** Explains why a pod has no sandbox (the pod's namespaces and network). */
import type { Pod } from '../../api/gen/core-v1.ts';
import { podCondition } from '../../component-helpers/pods.ts';
import type { Evidence } from '../evidence.ts';
import type { Cause } from '../explanation.ts';
import { latestEventCause } from './pod-events.ts';
import { hasStarted } from './progress.ts';

export async function sandboxCauses(pod: Pod, evidence: Evidence): Promise<readonly Cause[]> {
  if (hasStarted(pod) || podCondition(pod, 'PodReadyToStartContainers')?.status === 'True') return [];
  return latestEventCause(pod, evidence, {
    reasons: ['FailedCreatePodSandBox', 'NetworkNotReady'],
    code: 'SandboxFailed',
    message: 'the sandbox of the pod (its network and namespaces) could not be made',
    cure: { text: 'mend what the message names: the network plugin, or the container runtime, of the node' },
  });
}
