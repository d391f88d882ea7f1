/** Reads the kubelet's state of a pod and its activity for the pod. */
import type { PodActivity } from '../../api/pod-activity.ts';
import type { PodNodeState } from '../../api/pod-node-state.ts';
import { sendJson } from './http.ts';
import { type ObjectRef, objectPath } from './kinds.ts';

export interface PodLife {
  readonly state: PodNodeState;
  readonly activity: PodActivity;
}

export async function readPodLife(ref: ObjectRef, signal: AbortSignal): Promise<PodLife> {
  const [state, activity] = await Promise.all([
    sendJson<PodNodeState>(`/keelson/v1/state${objectPath(ref)}`, { signal }),
    sendJson<PodActivity>(`/keelson/v1/activity${objectPath(ref)}`, { signal }),
  ]);
  return { state, activity };
}
