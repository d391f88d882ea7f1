/** Kills the containers of a pod. Upstream: killPod in pkg/kubelet/kubelet_pods.go and ConvertPodStatusToRunningPod. */
import type { Pod } from '../../api/gen/core-v1.ts';
import type { ContainerRuntime, RuntimePod } from '../container/runtime.ts';

/** Stops all containers, then the sandboxes; rejects when one of them could not be stopped. */
export async function killPod(
  runtime: ContainerRuntime,
  request: { pod?: Pod; runtimePod: RuntimePod; gracePeriodSeconds?: number | undefined; signal: AbortSignal },
): Promise<void> {
  const { pod, gracePeriodSeconds, runtimePod, signal } = request;
  const result = await runtime.killPod({
    runtimePod,
    signal,
    pod,
    gracePeriodSeconds,
  });
  if (result.error !== undefined) throw result.error;
}
