/**
 * Computes the actions that bring a pod to its spec: a pure function of the spec, the runtime's status and the
 * probes' results. Upstream: kuberuntime_manager.go (computePodActions, computeInitContainerActions),
 * util.PodSandboxChanged.
 *
 * Actions are in the order of the spec. Containers are killed and started in the same pass.
 */
import type { Container, Pod } from '../../api/gen/core-v1.ts';
import { findContainerStatusByName, shouldContainerBeRestarted } from '../container/helpers.ts';
import { containerShouldRestart, isContainerRestartable, restartsAllContainers } from '../container/restart-policy.ts';
import type { PodStatus, SandboxStatus } from '../container/runtime.ts';
import type { ProbeResults } from '../prober/results.ts';
import { asContainer } from './pod-facts.ts';
import {
  type Actuated,
  type Draft,
  killOfRunning,
  killOfUnknown,
  recordResize,
  type PodActions,
  withRestartNote,
} from './pod-actions.ts';
import { anyContainerCreated, computeInit } from './compute-init-actions.ts';

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

/** Adds normal containers; false when none is left to run. */
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
      killOfRunning({ container, status, probes, kind: 'Container' }) ?? recordResize(container, status, draft);
    if (kill === undefined) {
      keep++;
      continue;
    }
    // A changed spec restarts the container whatever its policy; a failed probe only where the policy restarts
    // failures.
    const restart = kill.reason === '' || isContainerRestartable(container, pod);
    if (restart) draft.start.push(container);
    draft.kill.push(restart ? withRestartNote(kill) : kill);
  }
  return keep > 0 || draft.start.length > 0;
}

/** Whether a restart rule of an exited container requires a restart of the whole pod. */
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
