/**
 * The PLEG's last observation of each pod, and the events between two records. Pure. Upstream: podRecords and
 * computeEvents in pkg/kubelet/pleg/generic.go.
 */
import type { ContainerState, PodStatus, RuntimePod } from '../container/runtime.ts';

/** The kind of a change of a container or sandbox. */
export type PodLifecycleEventType =
  | 'ContainerStarted'
  | 'ContainerDied'
  | 'ContainerRemoved'
  | 'ContainerChanged'
  | 'PodSync';

/** A change that the sync loop handles. */
export interface PodLifecycleEvent {
  /** Uid of the pod. */
  readonly id: string;
  readonly type: PodLifecycleEventType;
  /** Id of the container or sandbox; empty for PodSync. */
  readonly data: string;
}

/** State of a container in events. */
export type PlegContainerState = 'running' | 'exited' | 'unknown' | 'non-existent';

export interface PodRecord {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** By container or sandbox id. */
  readonly containers: ReadonlyMap<string, PlegContainerState>;
}

function plegState(state: ContainerState): PlegContainerState {
  return state === 'running' || state === 'exited' ? state : 'unknown';
}

/** A record from a listing. */
export function recordOfRuntimePod(pod: RuntimePod): PodRecord {
  const containers = new Map<string, PlegContainerState>();
  for (const container of [...pod.containers, ...pod.sandboxes])
    containers.set(container.id, plegState(container.state));
  return { uid: pod.uid, name: pod.name, namespace: pod.namespace, containers };
}

/** A record from an inspection; undefined when the runtime knows nothing of the pod. */
export function recordOfPodStatus(status: PodStatus): PodRecord | undefined {
  const containers = new Map<string, PlegContainerState>();
  for (const container of status.containers) containers.set(container.id, plegState(container.state));
  for (const sandbox of status.sandboxes) containers.set(sandbox.id, sandbox.ready ? 'running' : 'exited');
  return containers.size === 0
    ? undefined
    : { uid: status.uid, name: status.name, namespace: status.namespace, containers };
}

function eventTypes(before: PlegContainerState, after: PlegContainerState): readonly PodLifecycleEventType[] {
  if (before === after) return [];
  switch (after) {
    case 'running':
      return ['ContainerStarted'];
    case 'exited':
      return ['ContainerDied'];
    case 'unknown':
      return ['ContainerChanged'];
    case 'non-existent':
      // ContainerDied was already sent when the container exited.
      return before === 'exited' ? ['ContainerRemoved'] : ['ContainerDied', 'ContainerRemoved'];
  }
}

export function computeEvents(
  before: PodRecord | undefined,
  after: PodRecord | undefined,
): readonly PodLifecycleEvent[] {
  const id = after?.uid ?? before?.uid ?? '';
  const ids = new Set([...(before?.containers.keys() ?? []), ...(after?.containers.keys() ?? [])]);
  const events: PodLifecycleEvent[] = [];
  for (const containerId of ids) {
    const types = eventTypes(
      before?.containers.get(containerId) ?? 'non-existent',
      after?.containers.get(containerId) ?? 'non-existent',
    );
    for (const type of types) events.push({ id, type, data: containerId });
  }
  return events;
}
