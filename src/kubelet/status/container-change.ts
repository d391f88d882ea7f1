/**
 * Sets the result of a probe in a pod's status: the container's fields, and the conditions that depend on them. Pure.
 */
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/gen/core-v1.ts';
import { containersReadyCondition, podReadyCondition } from './conditions.ts';

/** The container's id has no scheme. */
export interface ContainerChange {
  readonly containerId: string;
  readonly ready?: boolean;
  readonly started?: boolean;
}

/** The changed status; undefined when no container has the id, or nothing changes. */
export function withContainerChange(pod: Pod, old: PodStatus, change: ContainerChange): PodStatus | undefined {
  const { containerId, ...fields } = change;
  let found = false;
  const apply = (list: readonly ContainerStatus[] | undefined): ContainerStatus[] | undefined =>
    list?.map((container) => {
      if (container.containerID?.endsWith(`//${containerId}`) !== true) return container;
      const { ready = container.ready, started = container.started } = fields;
      if (ready === container.ready && started === container.started) return container;
      found = true;
      return { ...container, ...fields };
    });
  const containerStatuses = apply(old.containerStatuses);
  const initContainerStatuses = apply(old.initContainerStatuses);
  if (!found) return undefined;
  const status: PodStatus = {
    ...old,
    ...(containerStatuses === undefined ? {} : { containerStatuses }),
    ...(initContainerStatuses === undefined ? {} : { initContainerStatuses }),
  };
  return change.ready === undefined ? status : withReadiness(pod, status);
}

function withReadiness(pod: Pod, status: PodStatus): PodStatus {
  const statuses = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const input = { pod, statuses, phase: status.phase ?? 'Pending' };
  const fresh = [podReadyCondition(input, status.conditions ?? []), containersReadyCondition(input)];
  const conditions = (status.conditions ?? []).map(
    (condition): PodCondition => fresh.find(({ type }) => type === condition.type) ?? condition,
  );
  return { ...status, conditions };
}
