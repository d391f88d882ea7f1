/** Reads the runtime's status into the runtime state. Upstream: updateRuntimeUp in pkg/kubelet/kubelet.go. */
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import type { ContainerRuntime, ContainerRuntimeStatus } from '../container/runtime.ts';
import type { RuntimeState } from './runtime-state.ts';

/** One check; never rejects. Returns the status when there is one. */
export async function updateRuntimeUp(deps: {
  runtime: ContainerRuntime;
  state: RuntimeState;
  log: Log;
  clock: Clock;
}): Promise<ContainerRuntimeStatus | undefined> {
  const { state } = deps;
  let status: ContainerRuntimeStatus;
  try {
    status = await deps.runtime.status();
  } catch (error) {
    deps.log.error('Container runtime sanity check failed', { err: error });
    return undefined;
  }
  const detail = status.message === '' ? '' : ` reason:${status.message}`;
  state.setNetworkState(
    status.networkReady ? undefined : `container runtime network not ready: NetworkReady=false${detail}`,
  );
  if (!status.runtimeReady) {
    state.setRuntimeState(`container runtime not ready: RuntimeReady=false${detail}`);
    return status;
  }
  state.setRuntimeState(undefined);
  state.setRuntimeSync();
  return status;
}
