/** The final status of a pod that has ended. Pure. Upstream: TerminatePod in pkg/kubelet/status/status_manager.go. */
import { isRestartableInitContainer } from '../../api/pod-containers.ts';
import type { ContainerStatus, Pod, PodStatus } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { isStaticPod } from '../types/pod-update.ts';
import { STATUS_UNKNOWN_REASON } from './container-statuses.ts';

function withTerminatedState(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated !== undefined) return status;
  const message = 'The container could not be located when the pod was terminated';
  return {
    ...status,
    ready: false,
    started: false,
    state: { terminated: { reason: STATUS_UNKNOWN_REASON, message, exitCode: 137 } },
  };
}

/** Whether the container runs or has run. */
function hasStarted({ state, lastState }: ContainerStatus): boolean {
  return state?.running !== undefined || state?.terminated !== undefined || lastState?.terminated !== undefined;
}

/** Whether the pod has completed its init containers. */
function hasPodInitialized(pod: Pod, status: PodStatus): boolean {
  const initContainers = pod.spec?.initContainers ?? [];
  if (initContainers.length === 0) return true;
  const regularStarted = (status.containerStatuses ?? []).some(hasStarted);
  if (regularStarted) return true;
  const last = initContainers.at(-1)!;
  const lastStatus = status.initContainerStatuses?.find(({ name }) => name === last.name);
  if (isRestartableInitContainer(last)) return lastStatus?.started === true;
  return lastStatus?.state?.terminated?.exitCode === 0 || lastStatus?.lastState?.terminated?.exitCode === 0;
}

/** The number of init containers up to the last that has run. */
function startedInitCount(statuses: readonly ContainerStatus[]): number {
  return statuses.findLastIndex(hasStarted) + 1;
}

/** `status` without running containers and with a terminal phase. Static pods keep their phase, as they start again. */
export function finalPodStatus(pod: Pod, status: PodStatus): PodStatus {
  const init = status.initContainerStatuses;
  const started = startedInitCount(init ?? []);
  const containers = hasPodInitialized(pod, status)
    ? status.containerStatuses?.map(withTerminatedState)
    : status.containerStatuses;
  const phase = isPodPhaseTerminal(status.phase) || isStaticPod(pod) ? status.phase : 'Failed';
  return {
    ...status,
    ...(phase === undefined ? {} : { phase }),
    ...(containers === undefined ? {} : { containerStatuses: containers }),
    ...(init === undefined
      ? {}
      : {
          initContainerStatuses: init.map((container, index) =>
            index < started ? withTerminatedState(container) : container,
          ),
        }),
  };
}
