/**
 * Brings one pod to its spec in seven steps: compute changes, kill the sandbox, kill containers, create a sandbox,
 * start ephemeral, init and normal containers. Upstream: kuberuntime_manager.go (SyncPod).
 *
 * A new pod takes RunPodSandbox, PodSandboxStatus (for its addresses; not with the host's network), CreateContainer
 * and StartContainer, no more. One pod is synced by one caller at a time.
 */
import { firstByName } from '../../base/first-by.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import { convertPodStatusToRunningPod } from '../container/helpers.ts';
import type { PodSyncResult } from '../container/runtime.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { killContainer } from './kill-container.ts';
import { killPod } from './kill-pod.ts';
import { podTarget, type RuntimeContext, runtimeErrorMessage } from './runtime-context.ts';
import { computeResize, resizePod } from './resize-containers.ts';
import { appendAll } from '../../base/lists.ts';
import { syncResultOf, type Pass, retryWithin, type SyncPod } from './sync-pass.ts';
import { ensureSandbox } from './ensure-sandbox.ts';
import { startContainers } from './start-containers.ts';

async function removeContainer(id: string, context: RuntimeContext): Promise<void> {
  try {
    await context.cri.runtime.removeContainer({ containerId: id });
  } catch (error) {
    if (!isCriCode(error, 'NotFound')) context.log.warn('container cannot be removed', { containerId: id, err: error });
  }
}

/**
 * Removes init containers of earlier runs, so that their statuses are not mistaken for the new run's. `keepNewest`
 * keeps one per name.
 */
async function pruneInitContainers(pass: Pass, keepNewest: boolean): Promise<void> {
  const endedByName = Map.groupBy(
    pass.podStatus.containers.filter(({ state }) => state === 'exited' || state === 'unknown'),
    ({ name }) => name,
  );
  for (const container of pass.pod.spec?.initContainers ?? []) {
    const ended = endedByName.get(container.name) ?? [];
    for (const status of keepNewest ? ended.slice(1) : ended) await removeContainer(status.id, pass.context);
  }
}

async function killUnwanted(pass: Pass): Promise<boolean> {
  const { pod, signal, actions, context } = pass;
  for (const { id, name, container, message, reason } of actions.containersToKill) {
    try {
      await killContainer({ pod, container, containerId: id, message, reason, signal }, context);
      pass.steps.push({ action: 'KillContainer', target: name });
    } catch (error) {
      pass.steps.push({
        action: 'KillContainer',
        target: name,
        reason: 'KillContainerError',
        message: runtimeErrorMessage(error),
      });
      return false;
    }
  }
  if (actions.initContainersToStart.length > 0) await pruneInitContainers(pass, true);
  return true;
}

/** A restart rule requires all containers to restart: kills and removes them, and requests another sync at once. */
async function resetContainers(pass: Pass): Promise<void> {
  const { pod, podStatus, signal, context } = pass;
  const killed = await killPod(
    { pod, runtimePod: { ...convertPodStatusToRunningPod(podStatus), sandboxes: [] }, signal },
    context,
  );
  appendAll(pass.steps, killed.steps);
  if (killed.error !== undefined) return;
  for (const status of podStatus.containers) await removeContainer(status.id, context);
  retryWithin(pass, 0);
}

/** Steps 2 and 3. False when the pass ends here. */
async function killFirst(pass: Pass): Promise<boolean> {
  const { pod, podStatus, signal, actions, context } = pass;
  if (!actions.killPod) return killUnwanted(pass);
  const runtimePod = convertPodStatusToRunningPod(podStatus);
  if (runtimePod.containers.length > 0 || runtimePod.sandboxes.length > 0) {
    const killed = await killPod({ pod, runtimePod, signal }, context);
    appendAll(pass.steps, killed.steps);
    if (killed.error !== undefined) return false;
  }
  if (actions.createSandbox) await pruneInitContainers(pass, false);
  return true;
}

/** Rejects only when aborted; failures are in the result. */
export async function syncPod(sync: SyncPod, context: RuntimeContext): Promise<PodSyncResult> {
  const { pod, podStatus, signal } = sync;
  const { actuated } = context;
  const actions = computePodActions({
    pod,
    podStatus,
    probes: context.probeResults,
    actuated: actuated && ((status) => actuated.actuated(status)),
  });
  const ended = firstByName(podStatus.containers.filter(({ state }) => state === 'exited'));
  const pass: Pass = { ...sync, actions, context, ended, steps: [] };
  if (actions.resetContainers) {
    await resetContainers(pass);
    return syncResultOf(pass);
  }
  if (actions.createSandbox && actions.sandboxId !== undefined) {
    context.recorder.event(
      podTarget(pod),
      'Normal',
      'SandboxChanged',
      'Pod sandbox changed, it will be killed and re-created.',
    );
  }
  if (!(await killFirst(pass))) return syncResultOf(pass);
  const resize = computeResize(pod, actions.containersToResize, context);
  if (resize !== undefined) appendAll(pass.steps, await resizePod(pod, resize, context));
  const starts =
    actions.ephemeralContainersToStart.length + actions.initContainersToStart.length + actions.containersToStart.length;
  if (!actions.createSandbox && (actions.killPod || starts === 0)) return syncResultOf(pass);
  signal.throwIfAborted();
  const sandbox = await ensureSandbox(pass);
  if (sandbox === undefined) return syncResultOf(pass);
  await startContainers(pass, sandbox);
  return syncResultOf(pass);
}
