/**
 * Starts one container: image, configuration, create, start, postStart. Upstream: kuberuntime_container.go (startContainer).
 *
 * Two CRI calls when all goes well. A failure carries upstream's reason, which becomes the container's waiting reason.
 */
import { formatTime } from '../../api/time.ts';
import type { Container, Pod, Secret } from '../../api/gen/core-v1.ts';
import { largest } from '../../base/lists.ts';
import type { StepScope } from '../../component-helpers/pod-trace/step-scope.ts';
import type { Init } from '../../cri/call-options.ts';
import type { Image, PodSandboxConfig } from '../../cri/gen/cri-types.ts';
import { findContainerStatusByName } from '../container/helpers.ts';
import type { ContainerStatus, PodStatus } from '../container/runtime.ts';
import { ImageError } from '../images/image-error.ts';
import { podUid } from '../types/pod-update.ts';
import { containerConfig } from './container-config.ts';
import { killContainer } from './kill-container.ts';
import { podLogDir, podLogIdentity } from './paths.ts';
import { containerTarget, type RuntimeContext, runtimeErrorMessage } from './runtime-context.ts';

/** The container to start, and its pod and sandbox. */
export interface StartContainer {
  readonly pod: Pod;
  readonly container: Container;
  readonly podStatus: PodStatus;
  readonly sandboxId: string;
  readonly sandboxConfig: Init<PodSandboxConfig>;
  readonly podIps: readonly string[];
  readonly pullSecrets: readonly Secret[];
  readonly imageVolumes: ReadonlyMap<string, string>;
  /** The name of the container that an ephemeral one joins. */
  readonly targetName?: string;
  readonly beforePull?: (() => void) | undefined;
  readonly trace: StepScope;
  readonly signal: AbortSignal;
}

/** A container could not be started. */
export class StartContainerError extends Error {
  readonly reason: string;
  readonly retryAfterMs: number | undefined;

  constructor(reason: string, message: string, options?: ErrorOptions & { retryAfterMs?: number | undefined }) {
    super(message, options);
    this.name = 'StartContainerError';
    this.reason = reason;
    this.retryAfterMs = options?.retryAfterMs;
  }
}

function fail(
  failure: { start: StartContainer; reason: string; error: unknown },
  context: RuntimeContext,
): StartContainerError {
  const { start, reason, error } = failure;
  const message = runtimeErrorMessage(error);
  context.recorder.event(containerTarget(start.pod, start.container), 'Warning', 'Failed', `Error: ${message}`);
  return new StartContainerError(reason, message, { cause: error });
}

async function pull(start: StartContainer, context: RuntimeContext, trace: StepScope): Promise<Image> {
  const { pod, container, pullSecrets, sandboxConfig, beforePull, signal } = start;
  try {
    return await context.images.ensureImageExists({
      pod,
      container,
      pullSecrets,
      sandboxConfig,
      beforePull,
      trace,
      signal,
      target: containerTarget(pod, container),
    });
  } catch (error) {
    if (!(error instanceof ImageError)) throw error;
    context.recorder.event(containerTarget(pod, container), 'Warning', 'Failed', `Error: ${error.reason}`);
    throw new StartContainerError(error.reason, error.message, { cause: error, retryAfterMs: error.retryAfterMs });
  }
}

/**
 * The restart count of this start: by the newest status, or by logs if the statuses have been removed. A container
 * that was created and never started (the kubelet was killed in between) is removed and its count reused, since
 * nothing restarted. Upstream counts it.
 */
async function restartCountOf(start: StartContainer, context: RuntimeContext): Promise<number> {
  const status = findContainerStatusByName(start.podStatus, start.container.name);
  if (status !== undefined && neverStarted(status) && (await tryRemoveContainer(status.id, context)))
    return status.restartCount;
  if (status !== undefined) return status.restartCount + 1;
  if (start.podStatus.sandboxes.length === 0) return 0;
  const directory = `${podLogDir(context.paths, podLogIdentity(start.pod))}/${start.container.name}`;
  if (!(await context.files.exists(directory))) return 0;
  const counts = (await context.files.readDir(directory))
    .map((name) => /^(\d+)\.log/.exec(name)?.[1])
    .filter((text) => text !== undefined);
  return counts.length === 0 ? 0 : largest(counts.map(Number)) + 1;
}

/**
 * Whether a container was created and no process of it ever ran, because the kubelet that started it was killed.
 * containerd reports at various steps that the context was canceled, sometimes with further text. Exported for its
 * test.
 */
export function neverStarted({
  state,
  reason,
  message,
}: Pick<ContainerStatus, 'state' | 'reason' | 'message'>): boolean {
  return state === 'created' || (state === 'exited' && reason === 'StartError' && message.includes('context canceled'));
}

async function tryRemoveContainer(containerId: string, { cri, log }: RuntimeContext): Promise<boolean> {
  try {
    await cri.runtime.removeContainer({ containerId });
    return true;
  } catch (error) {
    // The start of a killed caller continues for a moment: with a second container both would run.
    if (/starting state/.test(runtimeErrorMessage(error))) throw error;
    log.warn('a container that never started cannot be removed', { containerId, err: error });
    return false;
  }
}

function targetIdOf(start: StartContainer): string | undefined {
  if (start.targetName === undefined || start.targetName === '') return undefined;
  const status = findContainerStatusByName(start.podStatus, start.targetName);
  if (status === undefined) throw new Error(`unable to find target container ${start.targetName}`);
  return status.id;
}

async function create(start: StartContainer, context: RuntimeContext, image: Image): Promise<string> {
  const { pod, container, sandboxConfig } = start;
  let config;
  try {
    const targetId = targetIdOf(start);
    config = await start.trace.step('configuration', async () =>
      containerConfig(
        {
          pod,
          container,
          image,
          imageRef: image.id,
          podIps: start.podIps,
          restartCount: await restartCountOf(start, context),
          volumes: context.volumes.mountedVolumes(podUid(pod)),
          imageVolumes: start.imageVolumes,
          userNamespace: sandboxConfig.linux?.securityContext?.namespaceOptions?.usernsOptions,
          ...(targetId === undefined ? {} : { targetId }),
        },
        context.containerConfig,
      ),
    );
  } catch (error) {
    throw fail({ start, reason: 'CreateContainerConfigError', error }, context);
  }
  try {
    const request = { podSandboxId: start.sandboxId, config, sandboxConfig };
    const { containerId } = await start.trace.step('CreateContainer', ({ span }) =>
      context.cri.runtime.createContainer(request, { span }),
    );
    return containerId;
  } catch (error) {
    throw fail({ start, reason: 'CreateContainerError', error }, context);
  }
}

async function postStart(start: StartContainer, context: RuntimeContext, containerId: string): Promise<void> {
  const handler = start.container.lifecycle?.postStart;
  if (handler === undefined) return;
  const { pod, container, trace, signal } = start;
  try {
    await trace.step('postStart', () => context.hooks.run({ pod, container, containerId, handler, signal }));
  } catch (error) {
    context.log.error('postStart hook failed', {
      pod: pod.metadata.name,
      namespace: pod.metadata.namespace,
      container: container.name,
      err: error,
    });
    // The hook's message may contain secrets: it is written to the log and the pod's status, not to events.
    context.recorder.event(containerTarget(pod, container), 'Warning', 'FailedPostStartHook', 'PostStartHook failed');
    const output = runtimeErrorMessage(error);
    const at = formatTime(context.clock.nowMs());
    const ending = { container: container.name, containerId, reason: 'PostStartHook', output, at } as const;
    context.endings.add(podUid(pod), ending);
    await killContainer(
      { pod, container, containerId, message: 'FailedPostStartHook', reason: 'FailedPostStartHook', signal },
      context,
    ).catch((killError: unknown) =>
      context.log.error('container cannot be killed after its hook failed', { containerId, err: killError }),
    );
    throw new StartContainerError('PostStartHookError', output, { cause: error });
  }
}

/** Starts the container; resolves to its id. Rejects with StartContainerError, or the signal's reason. */
export async function startContainer(start: StartContainer, context: RuntimeContext): Promise<string> {
  const { pod, container, trace, signal } = start;
  const target = containerTarget(pod, container);
  const image = await trace.step('image', (scope) => pull(start, context, scope));
  signal.throwIfAborted();
  const containerId = await trace.step('create', (scope) =>
    context.reader.learning(podUid(pod), () => create({ ...start, trace: scope }, context, image)),
  );
  context.recorder.event(target, 'Normal', 'Created', 'Container created');
  try {
    await trace.step('start', ({ span }) => context.cri.runtime.startContainer({ containerId }, { span }));
  } catch (error) {
    throw fail({ start, reason: 'RunContainerError', error }, context);
  }
  context.recorder.event(target, 'Normal', 'Started', 'Container started');
  await postStart(start, context, containerId);
  return containerId;
}
