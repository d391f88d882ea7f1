/**
 * What must change for a pod to run as specified: a pure function of the spec, the runtime's status and the probes' results.
 * Upstream: kuberuntime_manager.go (computePodActions, computeInitContainerActions), util.PodSandboxChanged.
 *
 * Actions are ordered as the spec orders containers. Containers are killed and started in the same pass.
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { findContainerStatusByName, shouldContainerBeRestarted } from '../container/helpers.ts';
import {
  containerShouldRestart,
  restartsAllContainers,
  isContainerRestartable,
  isRestartableInitContainer,
} from '../container/restart-policy.ts';
import type { ContainerStatus, PodStatus, SandboxStatus } from '../container/runtime.ts';
import type { ProbeResults } from '../prober/results.ts';
import { changedResources, resourcesInPod, type ContainerResources } from '../allocation/resources.ts';
import type { ContainerResize } from './resize-containers.ts';
import { containerHash } from './container-hash.ts';
import { asContainer } from './pod-facts.ts';

/** Why a container is killed, as far as it changes its grace period. */
export type KillReason = 'LivenessProbe' | 'StartupProbe' | 'FailedPostStartHook' | 'Unknown' | '';

export interface ContainerKill {
  readonly id: string;
  readonly name: string;
  readonly container: Container;
  /** The Killing event's message. */
  readonly message: string;
  readonly reason: KillReason;
}

/** The changes. */
export interface PodActions {
  /** Stop everything, sandbox included. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** The sandbox to use or to replace; absent when there is none. */
  readonly sandboxId?: string;
  readonly attempt: number;
  readonly ephemeralContainersToStart: readonly Container[];
  readonly initContainersToStart: readonly Container[];
  readonly containersToStart: readonly Container[];
  readonly containersToKill: readonly ContainerKill[];
  /** Running containers that get other limits. */
  readonly containersToResize: readonly ContainerResize[];
  /** End and remove every container; the next pass starts the pod from its first init container in the same sandbox. */
  readonly resetContainers: boolean;
}

/** Resources that a running container was last configured with; undefined: not known, and nothing is changed. */
export type Actuated = (status: ContainerStatus) => ContainerResources | undefined;

/** The changes under way, and what they are computed from. */
interface Draft {
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

/** Whether the pod needs a new sandbox, and its attempt number. */
export function sandboxChanged(pod: Pod, podStatus: PodStatus): { changed: boolean; attempt: number; id?: string } {
  const newest: SandboxStatus | undefined = podStatus.sandboxes[0];
  if (newest === undefined) return { changed: true, attempt: 0 };
  const ready = podStatus.sandboxes.filter((sandbox) => sandbox.ready).length;
  const next = { changed: true, attempt: newest.attempt + 1, id: newest.id };
  if (ready > 1 || !newest.ready) return next;
  const wanted = pod.spec?.hostNetwork ? 'node' : 'pod';
  if (newest.networkNamespace !== wanted) return next;
  if (wanted === 'pod' && newest.ips.length === 0) return next;
  return { changed: false, attempt: newest.attempt, id: newest.id };
}

function isFailed(status: ContainerStatus): boolean {
  if (status.state === 'exited') return status.exitCode !== 0;
  return status.state === 'unknown';
}

/** How a running container must change to have its resources; undefined when it has them. */
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

/** Notes a change of resources; a kill when only a restart brings it. */
function noteResize(container: Container, status: ContainerStatus, draft: Draft): ContainerKill | undefined {
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
function killOfRunning(input: {
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

/** A kill before the restart, as the runtime does not know whether the container runs. */
function killOfUnknown(
  container: Container,
  status: ContainerStatus,
  kind: 'Container' | 'Init container',
): ContainerKill {
  const message = `${kind} is in "${status.state}" state, try killing it before restart`;
  return { id: status.id, name: container.name, container, reason: 'Unknown', message };
}

function withRestartNote(kill: ContainerKill): ContainerKill {
  return { ...kill, message: `${kill.message}, will be restarted` };
}

function startAfterSandbox(pod: Pod, podStatus: PodStatus): { create: boolean; init: Container[]; start: Container[] } {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  const start = containers.filter((container) => {
    const status = findContainerStatusByName(podStatus, container.name);
    return status === undefined || status.state !== 'exited' || containerShouldRestart(container, pod, status.exitCode);
  });
  // No container is left to run: a new sandbox is needed only if initialization has not finished.
  if (start.length === 0 && (initContainers.length === 0 || anyContainerCreated(pod, podStatus)))
    return { create: false, init: [], start: [] };
  return initContainers.length > 0
    ? { create: true, init: [initContainers[0]!], start: [] }
    : { create: true, init: [], start };
}

function anyContainerCreated(pod: Pod, podStatus: PodStatus): boolean {
  return (pod.spec?.containers ?? []).some((container) => {
    const status = findContainerStatusByName(podStatus, container.name);
    return status !== undefined && status.state !== 'unknown';
  });
}

/** Restart of a running sidecar when its probes or spec ask for it. True when it was added. */
function restartSidecar(container: Container, status: ContainerStatus, draft: Draft): boolean {
  const kill =
    killOfRunning({ container, status, probes: draft.probes, kind: 'Init container' }) ??
    noteResize(container, status, draft);
  if (kill === undefined) return false;
  draft.kill.push(kill);
  draft.init.push(container);
  return true;
}

/** Whether a running sidecar counts as started, so that what comes after it may start. */
function sidecarStarted(container: Container, status: ContainerStatus, probes: ProbeResults): boolean {
  return container.startupProbe === undefined || probes.get('startup', status.id) === 'success';
}

/** A step for the last init container that has a status while the pod is not initialized. True when it is the last and done. */
function advanceInit(index: number, status: ContainerStatus, draft: Draft): boolean {
  const { pod, probes } = draft;
  const initContainers = pod.spec!.initContainers!;
  const container = initContainers[index]!;
  const proceed = (): boolean => {
    const next = initContainers[index + 1];
    if (next === undefined) return true;
    draft.init.push(next);
    return false;
  };
  if (status.state === 'running') {
    if (!isRestartableInitContainer(container)) {
      // The API refuses resizes that would restart the container.
      noteResize(container, status, draft);
      return false;
    }
    if (restartSidecar(container, status, draft)) return false;
    return sidecarStarted(container, status, probes) && proceed();
  }
  if (status.state === 'exited' && !isRestartableInitContainer(container) && !isFailed(status)) return proceed();
  if (status.state === 'unknown') {
    draft.kill.push(killOfUnknown(container, status, 'Init container'));
  }
  if (
    isFailed(status) &&
    !isRestartableInitContainer(container) &&
    !(status.state === 'exited'
      ? containerShouldRestart(container, pod, status.exitCode)
      : isContainerRestartable(container, pod))
  ) {
    draft.killPod = true;
    draft.init = [];
    return false;
  }
  draft.init.push(container);
  return false;
}

/** Keeps a sidecar before the present point running. */
function keepSidecar(container: Container, status: ContainerStatus | undefined, draft: Draft): void {
  if (status?.state === 'running') {
    restartSidecar(container, status, draft);
    return;
  }
  if (status?.state === 'unknown') {
    draft.kill.push(killOfUnknown(container, status, 'Init container'));
  }
  draft.init.push(container);
}

/** Fills in init containers to start or kill; true when the pod is initialized. */
function computeInit(draft: Draft): boolean {
  const { pod, podStatus } = draft;
  const initContainers = pod.spec?.initContainers ?? [];
  if (initContainers.length === 0) return true;
  let initialized = anyContainerCreated(pod, podStatus);
  // Completed init containers may have been removed: the last one with a status shows how far initialization is.
  let passed = initialized;
  for (let index = initContainers.length - 1; index >= 0 && !draft.killPod; index--) {
    const container = initContainers[index]!;
    const status = findContainerStatusByName(podStatus, container.name);
    if (passed) {
      if (isRestartableInitContainer(container)) keepSidecar(container, status, draft);
    } else if (status !== undefined) {
      passed = true;
      initialized = advanceInit(index, status, draft);
    }
  }
  if (!passed) draft.init.push(initContainers[0]!);
  const order = new Map(initContainers.map((container, index) => [container.name, index]));
  draft.init.sort((a, b) => order.get(a.name)! - order.get(b.name)!);
  return initialized;
}

/** Fills in normal containers; false when none is to run any more. */
function computeContainers(draft: Draft): boolean {
  const { pod, podStatus, probes } = draft;
  let keep = 0;
  for (const container of pod.spec?.containers ?? []) {
    const status = findContainerStatusByName(podStatus, container.name);
    if (status === undefined || status.state !== 'running') {
      if (!shouldContainerBeRestarted(container, pod, podStatus)) continue;
      draft.start.push(container);
      if (status?.state === 'unknown') {
        draft.kill.push(killOfUnknown(container, status, 'Container'));
      }
      continue;
    }
    const kill =
      killOfRunning({ container, status, probes, kind: 'Container' }) ?? noteResize(container, status, draft);
    if (kill === undefined) {
      keep++;
      continue;
    }
    // A changed definition restarts whatever the policy is; a failed probe only where failures restart.
    const restart = kill.reason === '' || isContainerRestartable(container, pod);
    if (restart) draft.start.push(container);
    draft.kill.push(restart ? withRestartNote(kill) : kill);
  }
  return keep > 0 || draft.start.length > 0;
}

/** Whether an ended container's rules ask for a restart of the whole pod. */
function wantsFullRestart(pod: Pod, podStatus: PodStatus): boolean {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  return [...initContainers, ...containers].some((container) => {
    const status = findContainerStatusByName(podStatus, container.name);
    return status?.state === 'exited' && restartsAllContainers(container, status.exitCode);
  });
}

const nothing = {
  killPod: false,
  createSandbox: false,
  initContainersToStart: [],
  containersToStart: [],
  containersToKill: [],
  containersToResize: [],
};

/** The changes for one pod. */
export function computePodActions(input: {
  pod: Pod;
  podStatus: PodStatus;
  probes: ProbeResults;
  actuated?: Actuated;
}): PodActions {
  const { pod, podStatus, probes, actuated = () => undefined } = input;
  const sandbox = sandboxChanged(pod, podStatus);
  const base = { sandboxId: sandbox.id, attempt: sandbox.attempt, ephemeralContainersToStart: [] as Container[] };
  if (sandbox.changed) {
    const isNew = sandbox.attempt === 0 || podStatus.containers.length === 0;
    const never = (pod.spec?.containers ?? []).every((container) => !isContainerRestartable(container, pod));
    const plan = !isNew && never ? { create: false, init: [], start: [] } : startAfterSandbox(pod, podStatus);
    return {
      ...base,
      killPod: true,
      createSandbox: plan.create,
      initContainersToStart: plan.init,
      containersToStart: plan.start,
      containersToKill: [],
      containersToResize: [],
      resetContainers: false,
    };
  }
  if (wantsFullRestart(pod, podStatus)) {
    return { ...base, ...nothing, resetContainers: true };
  }
  const ephemeral = (pod.spec?.ephemeralContainers ?? [])
    .map(asContainer)
    .filter((container) => findContainerStatusByName(podStatus, container.name) === undefined);
  const draft: Draft = {
    pod,
    podStatus,
    probes,
    actuated,
    killPod: false,
    init: [],
    start: [],
    kill: [],
    resize: [],
  };
  const initialized = computeInit(draft);
  if (initialized && !draft.killPod && !computeContainers(draft)) {
    draft.killPod = true;
    draft.init = [];
  }
  return {
    ...base,
    killPod: draft.killPod,
    createSandbox: false,
    ephemeralContainersToStart: ephemeral,
    initContainersToStart: draft.init,
    containersToStart: draft.start,
    containersToKill: draft.kill,
    containersToResize: draft.killPod ? [] : draft.resize,
    resetContainers: false,
  };
}
