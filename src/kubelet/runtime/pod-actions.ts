/** The actions that bring one pod to its spec, with the rules for kills and resizes. Upstream: podActions. */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import type { ContainerStatus, PodStatus } from '../container/runtime.ts';
import type { ProbeResults } from '../prober/results.ts';
import { changedResources, type ContainerResources, resourcesInPod } from '../allocation/resources.ts';
import type { ContainerResize } from './resize-containers.ts';
import { containerHash } from './container-hash.ts';

/** Why a container is killed, for reasons that affect its grace period. */
export type KillReason = 'LivenessProbe' | 'StartupProbe' | 'FailedPostStartHook' | 'Unknown' | '';

export interface ContainerKill {
  readonly id: string;
  readonly name: string;
  readonly container: Container;
  /** The Killing event's message. */
  readonly message: string;
  readonly reason: KillReason;
}

export interface PodActions {
  /** Kill all containers and the sandbox. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** The sandbox to use or to replace; absent when the pod has none. */
  readonly sandboxId?: string;
  readonly attempt: number;
  readonly ephemeralContainersToStart: readonly Container[];
  readonly initContainersToStart: readonly Container[];
  readonly containersToStart: readonly Container[];
  readonly containersToKill: readonly ContainerKill[];
  /** Running containers whose limits change. */
  readonly containersToResize: readonly ContainerResize[];
  /**
   * Kill and remove every container; the next pass starts the pod from its first init container in the same sandbox.
   */
  readonly resetContainers: boolean;
}

/** The resources that a running container was last configured with; undefined: unknown, and nothing is changed. */
export type Actuated = (status: ContainerStatus) => ContainerResources | undefined;

/** The actions being computed, and their input. */
export interface Draft {
  readonly pod: Pod;
  readonly podStatus: PodStatus;
  readonly probes: ProbeResults;
  readonly actuated: Actuated;
  killPod: boolean;
  resize: ContainerResize[];
  init: Container[];
  start: Container[];
  kill: ContainerKill[];
}

/** The resize of a running container; undefined when its resources are up to date. */
function resizeOf(
  container: Container,
  status: ContainerStatus,
  draft: Draft,
): { restart: boolean; resize: ContainerResize } | undefined {
  const before = draft.actuated(status);
  const changed = before === undefined ? [] : changedResources(resourcesInPod(draft.pod, container), before);
  if (before === undefined || changed.length === 0) return undefined;
  const restart = changed.some(
    (name) =>
      container.resizePolicy?.find(({ resourceName }) => resourceName === name)?.restartPolicy === 'RestartContainer',
  );
  return { restart, resize: { id: status.id, container, before } };
}

/** Adds a resize to the actions, or a kill when the resize needs a restart. */
export function recordResize(container: Container, status: ContainerStatus, draft: Draft): ContainerKill | undefined {
  const found = resizeOf(container, status, draft);
  if (found === undefined) return undefined;
  if (!found.restart) {
    draft.resize.push(found.resize);
    return undefined;
  }
  const message = `Container ${container.name} resize requires restart`;
  return { id: status.id, name: container.name, container, reason: '', message };
}

/** A kill for probe results or a changed spec; undefined when the container keeps running. */
export function killOfRunning(input: {
  container: Container;
  status: ContainerStatus;
  probes: ProbeResults;
  kind: 'Container' | 'Init container';
}): ContainerKill | undefined {
  const { container, status, probes, kind } = input;
  const kill = (what: string, reason: KillReason): ContainerKill => ({
    id: status.id,
    name: container.name,
    container,
    reason,
    message: `${kind} ${container.name} ${what}`,
  });
  if (status.hash !== '' && status.hash !== containerHash(container)) return kill('definition changed', '');
  if (probes.get('liveness', status.id) === 'failure') return kill('failed liveness probe', 'LivenessProbe');
  if (probes.get('startup', status.id) === 'failure') return kill('failed startup probe', 'StartupProbe');
  return undefined;
}

/** A kill before the restart of a container whose state the runtime does not know. */
export function killOfUnknown(
  container: Container,
  status: ContainerStatus,
  kind: 'Container' | 'Init container',
): ContainerKill {
  const message = `${kind} is in "${status.state}" state, try killing it before restart`;
  return { id: status.id, name: container.name, container, reason: 'Unknown', message };
}

export function withRestartNote(kill: ContainerKill): ContainerKill {
  return { ...kill, message: `${kill.message}, will be restarted` };
}
