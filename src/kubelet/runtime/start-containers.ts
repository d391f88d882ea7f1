/**
 * Starts the containers of a pass of syncPod; those in back-off wait. Upstream: kuberuntime_manager.go (SyncPod,
 * doBackOff).
 */
import { isRestartableInitContainer } from '../../api/pod-containers.ts';
import { firstByName } from '../../base/first-by.ts';
import type { Container } from '../../api/gen/core-v1.ts';
import type { StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import type { StartedContainerType } from '../metrics/start-counts.ts';
import { containerHash } from './container-hash.ts';
import { goDuration } from './crash-back-off.ts';
import { podFullText } from './pod-facts.ts';
import { containerTarget, podTarget, runtimeErrorMessage } from './runtime-context.ts';
import { startContainer, StartContainerError } from './start-container.ts';
import { type Pass, retryWithin, type Sandbox } from './sync-pass.ts';

/**
 * Whether the container is in restart back-off. If so, records the failed step and an event; otherwise counts the
 * restart.
 */
function isHeldBack(pass: Pass, container: Container): boolean {
  const { pod, context } = pass;
  const last = pass.ended.get(container.name);
  if (last === undefined) return false;
  const key = `${pod.metadata.uid}/${container.name}/${containerHash(container)}`;
  const nowMs = context.clock.nowMs();
  const remainingMs = context.crashBackOff.remainingMs(key, last.finishedAtMs, nowMs);
  if (remainingMs === 0) {
    context.crashBackOff.next(key, last.finishedAtMs, nowMs);
    return false;
  }
  const text = podFullText(pod);
  context.recorder.event(
    containerTarget(pod, container),
    'Warning',
    'BackOff',
    `Back-off restarting failed container ${container.name} in pod ${text}`,
  );
  pass.steps.push({
    action: 'StartContainer',
    target: container.name,
    reason: 'CrashLoopBackOff',
    message: `back-off ${goDuration(context.crashBackOff.delayMs(key))} restarting failed container=${container.name} pod=${text}`,
  });
  retryWithin(pass, remainingMs);
  return true;
}

/** Pulls image volumes like images; a failure delays the containers that mount them. */
async function imageVolumesOf(pass: Pass, sandbox: Sandbox, trace: StepScope): Promise<ReadonlyMap<string, string>> {
  const refs = new Map<string, string>();
  for (const volume of pass.pod.spec?.volumes ?? []) {
    if (volume.image === undefined) continue;
    const { reference, pullPolicy } = volume.image;
    const image = await pass.context.images.ensureImageExists({
      pod: pass.pod,
      container: { image: reference, imagePullPolicy: pullPolicy },
      target: podTarget(pass.pod),
      pullSecrets: pass.pullSecrets,
      sandboxConfig: sandbox.config,
      beforePull: pass.beforePull,
      trace,
      signal: pass.signal,
    });
    refs.set(volume.name, image.id);
  }
  return refs;
}

async function startOne(
  pass: Pass,
  target: { sandbox: Sandbox; container: Container; type: StartedContainerType; targetName?: string },
): Promise<boolean> {
  const { sandbox, container, type } = target;
  const { pod, podStatus, pullSecrets, beforePull, signal, context } = pass;
  if (isHeldBack(pass, container)) return false;
  context.starts.container(type);
  try {
    signal.throwIfAborted();
    const start = async (trace: StepScope): Promise<string> =>
      startContainer(
        {
          pod,
          container,
          podStatus,
          pullSecrets,
          beforePull,
          trace,
          signal,
          imageVolumes: await imageVolumesOf(pass, sandbox, trace),
          sandboxId: sandbox.id,
          sandboxConfig: sandbox.config,
          podIps: sandbox.ips,
          ...(target.targetName === undefined ? {} : { targetName: target.targetName }),
        },
        context,
      );
    await pass.trace.step('container', start, container.name);
    pass.steps.push({ action: 'StartContainer', target: container.name });
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    const isKnown = error instanceof StartContainerError || (error instanceof Error && 'reason' in error);
    const reason = isKnown ? String((error as StartContainerError).reason) : 'RunContainerError';
    if (error instanceof StartContainerError) retryWithin(pass, error.retryAfterMs);
    context.starts.containerFailed(type, reason);
    pass.steps.push({ action: 'StartContainer', target: container.name, reason, message: runtimeErrorMessage(error) });
    return false;
  }
}

/** Steps 5 to 7: ephemeral, init and normal containers, one after the other. */
export async function startContainers(pass: Pass, sandbox: Sandbox): Promise<void> {
  const { actions } = pass;
  const ephemeral = firstByName(pass.pod.spec?.ephemeralContainers);
  for (const container of actions.ephemeralContainersToStart) {
    const targetName = ephemeral.get(container.name)?.targetContainerName;
    await startOne(pass, {
      sandbox,
      container,
      type: 'ephemeral_container',
      targetName,
    });
  }
  for (const container of actions.initContainersToStart) {
    const started = await startOne(pass, { sandbox, container, type: 'init_container' });
    // A sidecar that fails to restart does not prevent the others from starting; a failed init container ends the
    // pass.
    if (!started && !isRestartableInitContainer(container)) return;
  }
  for (const container of actions.containersToStart) await startOne(pass, { sandbox, container, type: 'container' });
}
