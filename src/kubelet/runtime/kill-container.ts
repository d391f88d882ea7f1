/**
 * Stops one container: preStop hook, its turn among the pod's sidecars, TERM, grace period, KILL. Upstream:
 * kuberuntime_container.go (killContainer).
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { linkedController } from '../../base/abort.ts';
import { isCriCode } from '../../cri/cri-error.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { KillReason } from './pod-actions.ts';
import { containerFacts } from './labels.ts';
import { containerTarget, type RuntimeContext } from './runtime-context.ts';
import type { TerminationOrdering } from './termination-ordering.ts';

/** Upstream's minimum between TERM and KILL. */
const MINIMUM_GRACE_PERIOD_SECONDS = 2;

/** The container to kill and the reason. Without `pod` and `container` both are restored from the container's labels. */
export interface KillContainer {
  readonly pod?: Pod;
  readonly container?: Container;
  readonly containerId: string;
  /** The Killing event's message; `Stopping container <name>` when empty. */
  readonly message: string;
  readonly reason: KillReason;
  readonly gracePeriodSeconds?: number;
  readonly ordering?: TerminationOrdering;
  /** Aborts the wait, so that another kill with a shorter grace period can follow. */
  readonly signal?: AbortSignal;
}

/** Restores pod and container from labels when they are gone from the API. Undefined when the container is gone too. */
async function restore(
  containerId: string,
  context: RuntimeContext,
): Promise<{ pod: Pod; container: Container } | undefined> {
  try {
    const { status } = await context.cri.runtime.containerStatus({ containerId });
    if (status === undefined) return undefined;
    const facts = containerFacts(status.labels, status.annotations);
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: facts.podName,
        namespace: facts.podNamespace,
        uid: facts.podUid,
        ...(facts.podDeletionGracePeriodSeconds === undefined
          ? {}
          : { deletionGracePeriodSeconds: facts.podDeletionGracePeriodSeconds }),
      },
      spec: {
        containers: [],
        ...(facts.podTerminationGracePeriodSeconds === undefined
          ? {}
          : { terminationGracePeriodSeconds: facts.podTerminationGracePeriodSeconds }),
      },
    };
    const container: Container = {
      name: facts.containerName,
      ...(facts.preStop === undefined ? {} : { lifecycle: { preStop: facts.preStop } }),
    };
    return { pod, container };
  } catch (error) {
    if (isCriCode(error, 'NotFound')) return undefined;
    throw error;
  }
}

/** The grace period in seconds: of the deletion, else of the failed probe, else of the pod. */
function graceOf(pod: Pod, container: Container, reason: KillReason): number {
  const deletion = pod.metadata.deletionGracePeriodSeconds;
  if (deletion !== undefined) return Number(deletion);
  const own = pod.spec?.terminationGracePeriodSeconds;
  if (own === undefined) return MINIMUM_GRACE_PERIOD_SECONDS;
  const probe =
    reason === 'LivenessProbe'
      ? container.livenessProbe
      : reason === 'StartupProbe'
        ? container.startupProbe
        : undefined;
  return Number(probe?.terminationGracePeriodSeconds ?? own);
}

/**
 * Runs the preStop hook for at most the grace period; resolves to the seconds it took. A second kill of the same
 * container (with a shorter grace period) waits for the hook in progress.
 */
async function preStop(
  request: { pod: Pod; container: Container; containerId: string; graceSeconds: number; signal?: AbortSignal },
  context: RuntimeContext,
): Promise<number> {
  const { pod, container, containerId, graceSeconds, signal } = request;
  const { clock, preStops } = context;
  const startMs = clock.monotonicMs();
  let hook = preStops.get(containerId);
  if (hook === undefined) {
    hook = context.hooks
      .run({ pod, container, containerId, handler: container.lifecycle!.preStop! })
      .catch((error: unknown) => {
        context.log.error('preStop hook failed', {
          pod: pod.metadata.name,
          namespace: pod.metadata.namespace,
          container: container.name,
          err: error,
        });
        context.recorder.event(containerTarget(pod, container), 'Warning', 'FailedPreStopHook', 'PreStopHook failed');
      });
    preStops.set(containerId, hook);
  }
  const timer = linkedController(signal);
  await Promise.race([hook, sleepUnlessAborted(clock, graceSeconds * 1000, timer.signal)]);
  timer.abort();
  timer.dispose();
  signal?.throwIfAborted();
  return Math.floor((clock.monotonicMs() - startMs) / 1000);
}

/**
 * Stops the container. Resolves when it has stopped or is gone. Rejects with the runtime's error, or with the
 * signal's reason when aborted; the container has then received its signal, and another kill may follow.
 */
export async function killContainer(kill: KillContainer, context: RuntimeContext): Promise<void> {
  const restored =
    kill.pod !== undefined && kill.container !== undefined
      ? { pod: kill.pod, container: kill.container }
      : await restore(kill.containerId, context);
  if (restored === undefined) return;
  const { pod, container } = restored;
  const { containerId, ordering } = kill;
  let graceSeconds = kill.gracePeriodSeconds ?? graceOf(pod, container, kill.reason);
  const message = kill.message === '' ? `Stopping container ${container.name}` : kill.message;
  context.recorder.event(containerTarget(pod, container), 'Normal', 'Killing', message);
  if (container.lifecycle?.preStop !== undefined && graceSeconds > 0) {
    graceSeconds -= await preStop({ pod, container, containerId, graceSeconds, signal: kill.signal }, context);
  }
  if (ordering !== undefined && graceSeconds > 0)
    graceSeconds -= await ordering.waitForTurn(container.name, graceSeconds);
  try {
    kill.signal?.throwIfAborted();
    await context.cri.runtime.stopContainer(
      { containerId, timeoutSeconds: Math.max(graceSeconds, MINIMUM_GRACE_PERIOD_SECONDS) },
      { signal: kill.signal },
    );
  } catch (error) {
    if (!isCriCode(error, 'NotFound')) throw error;
  } finally {
    if (!kill.signal?.aborted) context.preStops.delete(containerId);
    ordering?.containerTerminated(container.name);
  }
}
