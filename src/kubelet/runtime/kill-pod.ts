/** Ends a pod: all its containers at once (sidecars in their order), then its sandboxes. Upstream: kuberuntime_manager.go (killPodWithSyncResult). */
import type { Pod } from '../../api/gen/core-v1.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import type { PodStatus, PodSyncResult, RuntimePod, SyncStep } from '../container/runtime.ts';
import { killContainer } from './kill-container.ts';
import { findContainer, isRestartable } from './pod-facts.ts';
import { messageOf, podTarget, type RuntimeContext } from './runtime-context.ts';
import { createTerminationOrdering } from './termination-ordering.ts';

/** Which pod to end. `pod` is absent for orphans. */
export interface KillPod {
  readonly pod?: Pod;
  readonly runtimePod: RuntimePod;
  readonly gracePeriodSeconds?: number;
  readonly signal?: AbortSignal;
}

/** The running part of a status, as a listing would tell it. */
export function runningPodOf(status: PodStatus): RuntimePod {
  return {
    uid: status.uid,
    name: status.name,
    namespace: status.namespace,
    createdAtMs: status.sandboxes[0]?.createdAtMs ?? 0,
    containers: status.containers
      .filter(
        (container) => container.state === 'running' || container.state === 'unknown' || container.state === 'created',
      )
      .map(({ id, name, state, hash }) => ({ id, name, state, hash })),
    sandboxes: status.sandboxes.map(({ id, ready }) => ({
      id,
      state: ready ? ('running' as const) : ('exited' as const),
    })),
  };
}

async function killContainers(kill: KillPod, context: RuntimeContext): Promise<SyncStep[]> {
  const { pod, runtimePod } = kill;
  const alive = runtimePod.containers.filter((container) => container.state !== 'exited');
  const ordered = pod?.spec?.initContainers?.some(isRestartable) ?? false;
  const ordering = ordered
    ? createTerminationOrdering(
        pod!,
        alive.map((container) => container.name),
        context.clock,
      )
    : undefined;
  return Promise.all(
    alive.map(async ({ id, name }): Promise<SyncStep> => {
      const container = pod === undefined ? undefined : findContainer(pod, name);
      try {
        await killContainer(
          {
            pod,
            container,
            containerId: id,
            message: '',
            reason: '',
            gracePeriodSeconds: kill.gracePeriodSeconds,
            ordering,
            signal: kill.signal,
          },
          context,
        );
        return { action: 'KillContainer', target: name };
      } catch (error) {
        kill.signal?.throwIfAborted();
        ordering?.containerTerminated(name);
        return { action: 'KillContainer', target: name, reason: 'KillContainerError', message: messageOf(error) };
      }
    }),
  );
}

async function stopSandbox(id: string, target: string, context: RuntimeContext): Promise<SyncStep> {
  try {
    await context.cri.runtime.stopPodSandbox({ podSandboxId: id });
    return { action: 'KillPodSandbox', target };
  } catch (error) {
    if (isCriCode(error, 'NotFound')) return { action: 'KillPodSandbox', target };
    return { action: 'KillPodSandbox', target, reason: 'KillPodSandboxError', message: messageOf(error) };
  }
}

/** Ends the pod. Rejects only when aborted; what failed stands in the steps and the error. */
export async function killPod(kill: KillPod, context: RuntimeContext): Promise<PodSyncResult> {
  const { runtimePod } = kill;
  const containers = await killContainers(kill, context);
  const sandboxes = await Promise.all(runtimePod.sandboxes.map(({ id }) => stopSandbox(id, runtimePod.name, context)));
  const steps = [...containers, ...sandboxes];
  const failed = steps.filter((step) => step.reason !== undefined);
  if (failed.length === 0) {
    await context.subpaths
      .cleanPod(runtimePod.uid)
      .catch((error: unknown) =>
        context.log.warn('sub-paths cannot be removed', { podUID: runtimePod.uid, err: error }),
      );
    return { steps };
  }
  const message = failed
    .map((step) => `failed to "${step.action}" for "${step.target}" with ${step.reason}: "${step.message}"`)
    .join(', ');
  if (kill.pod !== undefined)
    context.recorder.event(podTarget(kill.pod), 'Warning', 'FailedKillPod', `error killing pod: ${message}`);
  return { steps, error: new Error(failed.length === 1 ? message : `[${message}]`) };
}
