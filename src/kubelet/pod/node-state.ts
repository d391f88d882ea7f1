/** The kubelet's state of a pod that no API object has, collected on request. */
import { formatTime } from '../../api/time.ts';
import type { HeldBackContainer, PodNodeState } from '../../api/pod-node-state.ts';
import type { ContainerRuntime, PodStatus } from '../container/runtime.ts';
import type { ProbeManager } from '../prober/prober-manager.ts';
import type { VolumeManager } from '../volumes/volume-manager-contract.ts';

export interface NodeStateDeps {
  readonly runtime: Pick<ContainerRuntime, 'restartDelayMs' | 'failedPulls' | 'endings'>;
  readonly probes: Pick<ProbeManager, 'answers' | 'endings'>;
  readonly volumes: Pick<VolumeManager, 'awaitedVolumes'>;
}

/** @param status the runtime's newest; undefined before the first */
export function podNodeState(
  { runtime, probes, volumes }: NodeStateDeps,
  uid: string,
  { status, nowMs }: { readonly status: PodStatus | undefined; readonly nowMs: number },
): PodNodeState {
  return {
    apiVersion: 'keelson/v1',
    kind: 'PodNodeState',
    uid,
    heldBack: heldBack(uid, status, { runtime, nowMs }),
    failedPulls: runtime.failedPulls(uid),
    probes: probes.answers(uid),
    endings: [...probes.endings(uid), ...runtime.endings(uid)],
    volumes: volumes.awaitedVolumes(uid),
  };
}

/** Containers that have exited and wait for their restart back-off. */
function heldBack(
  uid: string,
  status: PodStatus | undefined,
  { runtime, nowMs }: { readonly runtime: NodeStateDeps['runtime']; readonly nowMs: number },
): readonly HeldBackContainer[] {
  const newest = new Map((status?.containers ?? []).toReversed().map((one) => [one.name, one]));
  return [...newest.values()].flatMap(({ name, state, finishedAtMs }) => {
    const delayMs = state === 'exited' ? runtime.restartDelayMs(uid, name) : 0;
    const nextMs = finishedAtMs + delayMs;
    return nextMs > nowMs ? [{ name, delaySeconds: delayMs / 1000, nextTry: formatTime(nextMs) }] : [];
  });
}
