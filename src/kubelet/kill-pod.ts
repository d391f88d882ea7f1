/** Ending the containers of a pod. Upstream: killPod in pkg/kubelet/kubelet_pods.go and ConvertPodStatusToRunningPod. */
import type { Pod } from '../api/gen/core-v1.ts';
import type { ContainerRuntime, PodStatus, RuntimePod } from './container/runtime.ts';

/** What of a pod is (or may be) running, from its status. */
export function runningPodOf(status: PodStatus): RuntimePod {
  return {
    uid: status.uid,
    name: status.name,
    namespace: status.namespace,
    createdAtMs: status.sandboxes[0]?.createdAtMs ?? 0,
    containers: status.containers
      .filter((container) => container.state === 'running' || container.state === 'unknown')
      .map(({ id, name, state, hash }) => ({ id, name, state, hash })),
    sandboxes: status.sandboxes.map(({ id, ready }) => ({ id, state: ready ? 'running' : 'exited' })),
  };
}

/** Stops all containers, then the sandboxes; rejects when any would not stop. */
export async function killPod(
  runtime: ContainerRuntime,
  request: { pod?: Pod; runtimePod: RuntimePod; gracePeriodSeconds?: number | undefined; signal: AbortSignal },
): Promise<void> {
  const { pod, gracePeriodSeconds, runtimePod, signal } = request;
  const result = await runtime.killPod({
    runtimePod,
    signal,
    ...(pod === undefined ? {} : { pod }),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
  });
  if (result.error !== undefined) throw result.error;
}
