/**
 * Creates and deletes the pods of a controller, with upstream's events. Upstream: controller.RealPodControl,
 * GetPodFromTemplate, slowStartBatch.
 */
import { Pods } from '../api/gen/resources.ts';
import type { Pod, PodTemplateSpec } from '../api/gen/core-v1.ts';
import type { KubernetesObject, Stored } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { isReason } from '../api/status-error.ts';
import { settleInTurns, type Turns } from '../base/begin-in-turns.ts';
import { errorMessage } from '../base/errors.ts';
import type { Client } from '../client/client.ts';
import type { EventRecorder } from '../client/event-recorder.ts';
import { newControllerReference } from '../component-helpers/owner-references.ts';
import type { Clock } from '../platform/clock.ts';

/** Creates and deletes pods for owners of one kind. */
export interface PodControl {
  /** Resolves to the new pod. Records SuccessfulCreate or FailedCreate on the owner. */
  create(owner: KubernetesObject, pod: Pod, signal: AbortSignal): Promise<Pod>;
  /** Deletes a pod; NotFound is an error that the caller may ignore. Records SuccessfulDelete or FailedDelete. */
  remove(owner: KubernetesObject, pod: Stored<Pod>, signal: AbortSignal): Promise<void>;
}

/** Makes a pod control that acts through `client`. */
export function createPodControl(client: Client, recorder: EventRecorder): PodControl {
  const pods = client.resource(Pods);
  return {
    async create(owner, pod, signal) {
      try {
        const created = await pods.create(pod, { signal });
        recorder.event(owner, 'Normal', 'SuccessfulCreate', `Created pod: ${created.metadata.name}`);
        return created;
      } catch (error) {
        const terminating =
          isReason(error, 'Forbidden') &&
          error.status.details?.causes?.some((c) => c.reason === 'NamespaceTerminating');
        if (!signal.aborted && terminating !== true)
          recorder.event(owner, 'Warning', 'FailedCreate', `Error creating: ${errorMessage(error)}`);
        throw error;
      }
    },
    async remove(owner, pod, signal) {
      const { namespace, name, uid } = pod.metadata;
      try {
        await pods.delete({ namespace, name }, { signal, preconditions: { uid } });
        recorder.event(owner, 'Normal', 'SuccessfulDelete', `Deleted pod: ${name}`);
      } catch (error) {
        if (!signal.aborted && !isReason(error, 'NotFound'))
          recorder.event(owner, 'Warning', 'FailedDelete', `Error deleting: ${errorMessage(error)}`);
        throw error;
      }
    },
  };
}

/** A pod made from a template for an owner; named `<owner>-…` by the server. */
export function podFromTemplate(
  template: PodTemplateSpec,
  owner: Stored<KubernetesObject>,
  ownerInfo: ResourceInfo,
): Pod {
  const { labels, annotations, finalizers } = template.metadata ?? {};
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: owner.metadata.namespace ?? '',
      generateName: `${owner.metadata.name}-`,
      ...(labels === undefined ? {} : { labels: { ...labels } }),
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
      ...(finalizers === undefined ? {} : { finalizers: [...finalizers] }),
      ownerReferences: [newControllerReference(owner, ownerInfo)],
    },
    ...(template.spec === undefined ? {} : { spec: template.spec }),
  };
}

export interface SlowStartResult {
  readonly successes: number;
  /** The first failure, if any; no task was started after its batch. */
  readonly error?: unknown;
}

/** Calls about pods that begin in one turn of the loop: each takes up to a millisecond before it first waits. */
const PODS_PER_TURN = 16;

/** The turns over which creations, changes or deletions of hundreds of pods are spread. */
export function podTurns(clock: Clock): Turns {
  return { perTurn: PODS_PER_TURN, pause: () => clock.yield() };
}

/** The most tasks of a slow start that run at once. Upstream: MaxBatchSize of the StatefulSet controller. */
const MAX_BATCH = 500;

/**
 * Runs `task` `count` times in batches of 1, 2, 4 … up to 500, and stops after the first batch with a failure. When
 * every task fails (a quota, say) few are wasted; when all succeed it is nearly as fast as all at once.
 */
export async function slowStartBatch(
  count: number,
  task: (index: number) => Promise<void>,
  clock: Clock,
): Promise<SlowStartResult> {
  let successes = 0;
  for (let size = 1, started = 0; started < count; size = Math.min(MAX_BATCH, size * 2)) {
    const batch = Math.min(size, count - started);
    const first = started;
    const indexes = Array.from({ length: batch }, (_, offset) => first + offset);
    const results = await settleInTurns(indexes, task, podTurns(clock));
    started += batch;
    successes += results.filter((result) => result.status === 'fulfilled').length;
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) return { successes, error: failed.reason };
  }
  return { successes };
}
