/**
 * Why a container could not be started, until it starts: the reason of its `waiting` state. Upstream:
 * pkg/kubelet/reason_cache.go.
 */
import { Lru } from '../../base/lru.ts';
import type { PodSyncResult } from '../container/runtime.ts';

/** A reason such as CrashLoopBackOff with its message. */
export interface StartReason {
  readonly reason: string;
  readonly message: string;
}

export interface ReasonCache {
  /** Stores the sync's reasons for containers that did not start. */
  update(podUid: string, result: PodSyncResult): void;
  get(podUid: string, containerName: string): StartReason | undefined;
  forget(podUid: string): void;
}

const MAX_PODS = 1_000;

export function createReasonCache(): ReasonCache {
  const reasons = new Lru<string, Map<string, StartReason>>(MAX_PODS);
  return {
    update(podUid, result) {
      const ofPod = new Map(reasons.peek(podUid));
      for (const step of result.steps) {
        if (step.action !== 'StartContainer' && step.action !== 'InitContainer') continue;
        if (step.reason === undefined) ofPod.delete(step.target);
        else ofPod.set(step.target, { reason: step.reason, message: step.message ?? '' });
      }
      if (ofPod.size === 0) reasons.delete(podUid);
      else reasons.set(podUid, ofPod);
    },
    get: (podUid, containerName) => reasons.get(podUid)?.get(containerName),
    forget: (podUid) => reasons.delete(podUid),
  };
}
