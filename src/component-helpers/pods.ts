/** The state of a pod, by its status. Upstream: api/v1/pod util, controller.FilterActivePods. */
import { isPodPhaseTerminal } from '../api/pod-phase.ts';
import { parseTime } from '../api/time.ts';
import type { Pod, PodCondition } from '../api/gen/core-v1.ts';

export function podCondition(pod: Pod, type: string): PodCondition | undefined {
  const conditions = pod.status?.conditions;
  // A loop: controllers ask this of thousands of pods at every step.
  if (conditions !== undefined) for (const condition of conditions) if (condition.type === type) return condition;
  return undefined;
}

/** Whether the Ready condition is True. */
export function isPodReady(pod: Pod): boolean {
  return podCondition(pod, 'Ready')?.status === 'True';
}

/**
 * When the pod, staying ready, will have been so for `minReadySeconds`, in milliseconds since the epoch: `Infinity`
 * when it is not ready or has no transition time, `-Infinity` when there is nothing to wait for.
 */
export function availableAtMs(pod: Pod, minReadySeconds: number): number {
  const ready = podCondition(pod, 'Ready');
  if (ready?.status !== 'True') return Infinity;
  if (minReadySeconds === 0) return -Infinity;
  const sinceMs = parseTime(ready.lastTransitionTime);
  return Number.isNaN(sinceMs) ? Infinity : sinceMs + minReadySeconds * 1000;
}

/** Whether the pod has been ready for `minReadySeconds`. */
export function isPodAvailable(pod: Pod, minReadySeconds: number, nowMs: number): boolean {
  return availableAtMs(pod, minReadySeconds) <= nowMs;
}

/** Succeeded or Failed: no container will run again. */
export function isPodTerminal(pod: Pod): boolean {
  return isPodPhaseTerminal(pod.status?.phase);
}

/** Neither finished nor being deleted. */
export function isPodActive(pod: Pod): boolean {
  return !isPodTerminal(pod) && pod.metadata.deletionTimestamp === undefined;
}

/** Being deleted and not finished yet. */
export function isPodTerminating(pod: Pod): boolean {
  return !isPodTerminal(pod) && pod.metadata.deletionTimestamp !== undefined;
}

/** `conditions` with `condition` set; the same array when nothing but heartbeat times would change. */
export function withPodCondition(
  conditions: readonly PodCondition[] | undefined,
  condition: PodCondition,
): PodCondition[] {
  const old = conditions?.find((other) => other.type === condition.type);
  const isUnchanged = old !== undefined && old.status === condition.status && old.lastTransitionTime !== undefined;
  const next = isUnchanged ? { ...condition, lastTransitionTime: old.lastTransitionTime as string } : condition;
  if (old === undefined) return [...(conditions ?? []), next];
  return (conditions ?? []).map((other) => (other === old ? next : other));
}
