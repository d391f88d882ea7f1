/** What the kubelet knows of a pod and does for it: Keelson's own answers beside the pod's path. */
import { sendJson } from './http.ts';
import { type ObjectRef, objectPath } from './kinds.ts';

export interface PodNodeState {
  /** Containers that ended and wait to be started again. */
  readonly heldBack: readonly { readonly name: string; readonly delaySeconds: number; readonly nextTry: string }[];
  readonly failedPulls: readonly { readonly image: string; readonly message: string; readonly nextTry: string }[];
  readonly probes: readonly {
    readonly container: string;
    readonly type: string;
    readonly result: string;
    readonly output: string;
    readonly at: string;
    readonly inRow: number;
    readonly threshold: number;
  }[];
  readonly volumes: readonly { readonly name: string; readonly waitsFor: string; readonly error?: string }[];
}

export type ActivityPart = 'source' | 'pleg' | 'probe' | 'timer' | 'worker';

export interface ActivityEvent {
  readonly number: number;
  readonly at: string;
  readonly part: ActivityPart;
  readonly what: string;
  /** Absent: the worker's step goes on, or it is no step. */
  readonly durationMs?: number;
  readonly error?: string;
  readonly nextSync?: string;
}

export interface PodActivity {
  /** The node's clock when it answered. */
  readonly now: string;
  readonly since: string;
  readonly events: readonly ActivityEvent[];
}

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
