/**
 * Kills a pod: all its containers at once (sidecars in their order), then its sandboxes. Upstream:
 * killPodWithSyncResult, killContainersWithSyncResult (kuberuntime).
 */
import { isRestartableInitContainer } from '../../api/pod-containers.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { beginInTurns } from '../../base/begin-in-turns.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import type { PodSyncResult, RuntimePod, SyncStep } from '../container/runtime.ts';
import { syncError } from '../container/sync-error.ts';
import { killContainer } from './kill-container.ts';
import { findContainer } from './pod-facts.ts';
import { runtimeErrorMessage, type RuntimeContext } from './runtime-context.ts';
import { createTerminationOrdering } from './termination-ordering.ts';

const KILLS_PER_TURN = 100;

/** The pod to kill. `pod` is absent for orphans. */
export interface KillPod {
  readonly pod?: Pod;
  readonly runtimePod: RuntimePod;
  readonly gracePeriodSeconds?: number;
  readonly signal?: AbortSignal;
}

async function killContainers(kill: KillPod, context: RuntimeContext): Promise<SyncStep[]> {
  const { pod, runtimePod } = kill;
  const alive = runtimePod.containers.filter((container) => container.state !== 'exited');
  const ordered = pod?.spec?.initContainers?.some(isRestartableInitContainer) ?? false;
  const ordering = ordered
    ? createTerminationOrdering(
        pod!,
        alive.map((container) => container.name),
        context.clock,
      )
    : undefined;
  return beginInTurns(
    alive,
    async ({ id, name }): Promise<SyncStep> => {
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
        return {
          action: 'KillContainer',
          target: name,
          reason: 'KillContainerError',
          message: runtimeErrorMessage(error),
        };
      }
    },
    { perTurn: KILLS_PER_TURN, pause: () => context.clock.yield() },
  );
}

async function stopSandbox(id: string, target: string, context: RuntimeContext): Promise<SyncStep> {
  try {
    await context.cri.runtime.stopPodSandbox({ podSandboxId: id });
    return { action: 'KillPodSandbox', target };
  } catch (error) {
    if (isCriCode(error, 'NotFound')) return { action: 'KillPodSandbox', target };
    return { action: 'KillPodSandbox', target, reason: 'KillPodSandboxError', message: runtimeErrorMessage(error) };
  }
}

/** Rejects only when aborted; failures are in the steps and the error. */
export async function killPod(kill: KillPod, context: RuntimeContext): Promise<PodSyncResult> {
  const { runtimePod } = kill;
  const containers = await killContainers(kill, context);
  const sandboxes = await Promise.all(runtimePod.sandboxes.map(({ id }) => stopSandbox(id, runtimePod.name, context)));
  const steps = [...containers, ...sandboxes];
  const error = syncError(steps);
  if (error !== undefined) return { steps, error };
  await context.subpaths
    .cleanPod(runtimePod.uid)
    .catch((cause: unknown) => context.log.warn('sub-paths cannot be removed', { podUID: runtimePod.uid, err: cause }));
  return { steps };
}
