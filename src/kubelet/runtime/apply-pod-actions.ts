/**
 * Brings one pod to its specification in seven steps: compute changes, kill the sandbox, kill containers, create a sandbox,
 * start ephemeral, init and normal containers. Upstream: kuberuntime_manager.go (SyncPod).
 *
 * A new pod costs RunPodSandbox, PodSandboxStatus (for its addresses; not in the host's network), CreateContainer and
 * StartContainer, no more. One pod is synced by one caller at a time.
 */
import { podUid } from '../types/pod-update.ts';
import { firstByName } from '../../base/first-by.ts';
import type { Container, Pod, Secret } from '../../api/gen/core-v1.ts';
import { errorMessage } from '../../base/errors.ts';
import type { StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import type { PodSandboxConfig } from '../../cri/gen/cri-types.ts';
import type { Init } from '../../cri/call-options.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import { convertPodStatusToRunningPod } from '../container/helpers.ts';
import { isRestartableInitContainer } from '../container/restart-policy.ts';
import { syncError } from '../container/sync-error.ts';
import type { StartedContainerType } from '../metrics/start-counts.ts';
import type { ContainerStatus, PodStatus, PodSyncResult, SyncStep } from '../container/runtime.ts';
import { computePodActions, type PodActions } from './compute-pod-actions.ts';
import { containerHash } from './container-hash.ts';
import { goDuration } from './crash-back-off.ts';
import { killContainer } from './kill-container.ts';
import { killPod } from './kill-pod.ts';
import { podFullText } from './pod-facts.ts';
import { containerTarget, runtimeErrorMessage, podTarget, type RuntimeContext } from './runtime-context.ts';
import { computeResize, resizePod } from './resize-containers.ts';
import { sandboxConfig } from './sandbox-config.ts';
import { startContainer, StartContainerError } from './start-container.ts';
import { appendAll } from '../../base/lists.ts';

export interface SyncPod {
  readonly pod: Pod;
  readonly podStatus: PodStatus;
  readonly pullSecrets: readonly Secret[];
  readonly trace: StepScope;
  readonly signal: AbortSignal;
}

/** One pass over a pod: what to sync, by what means, and how far it has come. */
interface Pass extends SyncPod {
  readonly actions: PodActions;
  readonly context: RuntimeContext;
  /** The newest run of each container that has ended. */
  readonly ended: ReadonlyMap<string, ContainerStatus>;
  readonly steps: SyncStep[];
  retryAfterMs?: number;
}

interface Sandbox {
  readonly id: string;
  readonly config: Init<PodSandboxConfig>;
  readonly ips: readonly string[];
}

function finish({ steps, retryAfterMs }: Pass): PodSyncResult {
  const error = syncError(steps);
  return { steps, error, retryAfterMs };
}

function retryWithin(pass: Pass, afterMs: number | undefined): void {
  if (afterMs !== undefined) pass.retryAfterMs = Math.min(pass.retryAfterMs ?? Number.POSITIVE_INFINITY, afterMs);
}

async function removeContainer(id: string, context: RuntimeContext): Promise<void> {
  try {
    await context.cri.runtime.removeContainer({ containerId: id });
  } catch (error) {
    if (!isCriCode(error, 'NotFound')) context.log.warn('container cannot be removed', { containerId: id, err: error });
  }
}

/** Removes init containers of earlier runs, so that statuses of a new run are not taken for theirs. `keepNewest` keeps one per name. */
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

async function configOf({ pod, actions, context }: Pass): Promise<Init<PodSandboxConfig>> {
  return sandboxConfig({
    pod,
    attempt: actions.attempt,
    dns: await context.dns.podDns(pod),
    cgroupParent: context.podContainers.criParent(pod),
    clusterDomain: context.clusterDomain,
    paths: context.paths,
    resources: context.resources,
    userNamespace: await context.userNamespaces.of(pod, await context.runtimeHandler(pod)),
  });
}

/** The runtime sets up the network (CNI) before it makes the sandbox's container, whose time it tells. */
function addSandboxSteps(
  trace: StepScope,
  { startMs, endMs, createdAtMs }: { readonly startMs: number; readonly endMs: number; readonly createdAtMs: number },
): void {
  if (createdAtMs <= startMs || createdAtMs >= endMs) return;
  trace.add('network', { startMs, endMs: createdAtMs });
  trace.add('sandbox container', { startMs: createdAtMs, endMs });
}

async function createSandbox(pass: Pass, trace: StepScope): Promise<Sandbox> {
  const { pod, context } = pass;
  const { runtime } = context.cri;
  const { config, runtimeHandler } = await trace.step('configuration', async () => {
    const made = await configOf(pass);
    await context.files.makeDir(made.logDirectory!, { mode: 0o755 });
    return { config: made, runtimeHandler: await context.runtimeHandler(pod) };
  });
  const startMs = context.clock.nowMs();
  let running = trace;
  const podSandboxId = await trace.step('RunPodSandbox', (scope) => {
    running = scope;
    return context.reader.learning(
      podUid(pod),
      async () => (await runtime.runPodSandbox({ config, runtimeHandler }, { span: scope.span })).podSandboxId,
    );
  });
  const endMs = context.clock.nowMs();
  if (pod.spec?.hostNetwork) return { id: podSandboxId, config, ips: context.containerConfig.sources.node.hostIps };
  const { status } = await trace.step('PodSandboxStatus', (scope) =>
    runtime.podSandboxStatus({ podSandboxId }, { span: scope.span }),
  );
  if (status !== undefined) addSandboxSteps(running, { startMs, endMs, createdAtMs: status.createdAtMs });
  const { ip = '', additionalIps = [] } = status?.network ?? {};
  return {
    id: podSandboxId,
    config,
    ips: [ip, ...additionalIps.map((other) => other.ip)].filter((address) => address !== ''),
  };
}

async function ensureSandbox(pass: Pass): Promise<Sandbox | undefined> {
  const { pod, podStatus, actions, context } = pass;
  const target = podFullText(pod);
  if (!actions.createSandbox) {
    try {
      const config = await configOf(pass);
      const ips = pod.spec?.hostNetwork ? context.containerConfig.sources.node.hostIps : podStatus.ips;
      return { id: actions.sandboxId!, config, ips };
    } catch (error) {
      pass.steps.push({
        action: 'ConfigPodSandbox',
        target,
        reason: 'ConfigPodSandboxError',
        message: runtimeErrorMessage(error),
      });
      return undefined;
    }
  }
  context.starts.pod();
  try {
    const sandbox = await pass.trace.step('sandbox', (trace) => createSandbox(pass, trace));
    pass.steps.push({ action: 'CreatePodSandbox', target });
    return sandbox;
  } catch (error) {
    context.starts.podFailed();
    const message = `Failed to create sandbox for pod "${target}": ${errorMessage(error)}`;
    // While the pod is being deleted the sandbox may well have been refused on purpose.
    if (pod.metadata.deletionTimestamp === undefined) {
      context.recorder.event(
        podTarget(pod),
        'Warning',
        'FailedCreatePodSandBox',
        `Failed to create pod sandbox: ${errorMessage(error)}`,
      );
    }
    pass.steps.push({ action: 'CreatePodSandbox', target, reason: 'CreatePodSandboxError', message });
    return undefined;
  }
}

/** Whether the container must still wait after it crashed; records the failed step and event if so, counts the restart if not. */
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

/** Image volumes are pulled like images; a failure holds back the containers that mount them. */
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
  const { pod, podStatus, pullSecrets, signal, context } = pass;
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
    const known = error instanceof StartContainerError || (error instanceof Error && 'reason' in error);
    const reason = known ? String((error as StartContainerError).reason) : 'RunContainerError';
    if (error instanceof StartContainerError) retryWithin(pass, error.retryAfterMs);
    context.starts.containerFailed(type, reason);
    pass.steps.push({ action: 'StartContainer', target: container.name, reason, message: runtimeErrorMessage(error) });
    return false;
  }
}

/** Steps 5 to 7: ephemeral, init and normal containers, one after the other. */
async function startContainers(pass: Pass, sandbox: Sandbox): Promise<void> {
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
    // A sidecar that fails to restart must not keep the others down; a failed init container ends the pass.
    if (!started && !isRestartableInitContainer(container)) return;
  }
  for (const container of actions.containersToStart) await startOne(pass, { sandbox, container, type: 'container' });
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
    return finish(pass);
  }
  if (actions.createSandbox && actions.sandboxId !== undefined) {
    context.recorder.event(
      podTarget(pod),
      'Normal',
      'SandboxChanged',
      'Pod sandbox changed, it will be killed and re-created.',
    );
  }
  if (!(await killFirst(pass))) return finish(pass);
  const resize = computeResize(pod, actions.containersToResize, context);
  if (resize !== undefined) appendAll(pass.steps, await resizePod(pod, resize, context));
  const starts =
    actions.ephemeralContainersToStart.length + actions.initContainersToStart.length + actions.containersToStart.length;
  if (!actions.createSandbox && (actions.killPod || starts === 0)) return finish(pass);
  signal.throwIfAborted();
  const sandbox = await ensureSandbox(pass);
  if (sandbox === undefined) return finish(pass);
  await startContainers(pass, sandbox);
  return finish(pass);
}
