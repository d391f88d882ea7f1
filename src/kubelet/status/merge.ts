/**
 * Rules between an old and a new pod status. Pure. Upstream: mergePodStatus, updateLastTransitionTime, normalizeStatus,
 * checkContainerStateTransition in pkg/kubelet/status/status_manager.go.
 */
import { podContainers, sidecarsOf } from '../../api/pod-containers.ts';
import { firstBy, firstByName } from '../../base/first-by.ts';
import { deepEqual } from '../../base/equal.ts';
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../api/gen/core-v1.ts';
import { isPodPhaseTerminal } from '../../api/pod-phase.ts';
import { containerShouldRestart } from '../container/restart-policy.ts';
import { isKubeletCondition, isMirrorPod } from '../types/pod-update.ts';
import { containersReadyCondition, podReadyCondition } from './conditions.ts';

/** The new status with each condition's transition time: kept while its status stays, else `now`. */
export function withTransitionTimes(status: PodStatus, old: PodStatus, now: string): PodStatus {
  const oldConditions = firstBy(old.conditions ?? [], ({ type }) => type);
  const conditions = (status.conditions ?? []).map((condition): PodCondition => {
    if (!isKubeletCondition(condition.type) && condition.type !== 'DisruptionTarget') return condition;
    const before = oldConditions.get(condition.type);
    const transitionTime =
      before !== undefined && before.status === condition.status ? before.lastTransitionTime : undefined;
    return { ...condition, lastTransitionTime: transitionTime ?? now };
  });
  return { ...status, conditions };
}

/**
 * The status to write over the API's: conditions of others are kept, and a terminal phase is withheld until no
 * container runs.
 */
export function mergePodStatus(pod: Pod, status: PodStatus, couldHaveRunningContainers: boolean): PodStatus {
  const old = pod.status ?? {};
  const becomesTerminal = !isPodPhaseTerminal(old.phase) && isPodPhaseTerminal(status.phase);
  const foreign = (old.conditions ?? []).filter((condition) => !isKubeletCondition(condition.type));
  const own = (status.conditions ?? []).filter((condition) => isKubeletCondition(condition.type));
  const disruption = status.conditions?.find((condition) => condition.type === 'DisruptionTarget');
  let conditions = [...foreign, ...own];
  if (becomesTerminal && !couldHaveRunningContainers && disruption !== undefined) {
    conditions = [...conditions.filter((condition) => condition.type !== 'DisruptionTarget'), disruption];
  }
  let merged: PodStatus = { ...status, conditions };
  for (const field of ['resourceClaimStatuses', 'extendedResourceClaimStatus', 'nominatedNodeName'] as const) {
    const { [field]: _dropped, ...rest } = merged;
    merged = old[field] === undefined ? rest : { ...rest, [field]: old[field] };
  }
  // No pod leaves a terminal phase, even one that another client wrote: its containers are being stopped.
  const leavesTerminal = isPodPhaseTerminal(old.phase) && !isPodPhaseTerminal(status.phase) && !isMirrorPod(pod);
  if (leavesTerminal || (becomesTerminal && couldHaveRunningContainers)) merged = withPhaseOf(merged, old);
  return isPodPhaseTerminal(merged.phase) ? withoutReady(pod, merged) : merged;
}

function withPhaseOf(status: PodStatus, old: PodStatus): PodStatus {
  const { phase: _phase, reason: _reason, message: _message, ...rest } = status;
  return {
    ...rest,
    ...(old.phase === undefined ? {} : { phase: old.phase }),
    ...(old.reason === undefined ? {} : { reason: old.reason }),
    ...(old.message === undefined ? {} : { message: old.message }),
  };
}

/** A pod of terminal phase is not ready, whatever the last probe said. */
function withoutReady(pod: Pod, status: PodStatus): PodStatus {
  const ready =
    status.conditions?.some((c) => (c.type === 'Ready' || c.type === 'ContainersReady') && c.status === 'True') ===
    true;
  if (!ready) return status;
  const input = {
    pod,
    statuses: [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])],
    phase: status.phase!,
  };
  const replaced = [containersReadyCondition(input), podReadyCondition(input, [])];
  const conditions = (status.conditions ?? []).map((condition) => {
    const replacement = replaced.find((candidate) => candidate.type === condition.type);
    return replacement === undefined ? condition : { ...condition, ...replacement };
  });
  return { ...status, conditions };
}

/** Fields of a status that others write, and those compared apart. */
const NOT_COMPARED: ReadonlySet<string> = new Set([
  'resourceClaimStatuses',
  'extendedResourceClaimStatus',
  'nominatedNodeName',
  'conditions',
]);

function haveSameConditions(a: PodStatus, b: PodStatus): boolean {
  const [own, others] = [a, b].map((status) =>
    (status.conditions ?? []).filter(({ type }) => isKubeletCondition(type)),
  );
  if (own!.length !== others!.length) return false;
  return own!.every((condition, index) => {
    const { type } = condition;
    const other = others![index]!;
    return isEqualValue(condition, other.type === type ? other : others!.find((candidate) => candidate.type === type));
  });
}

/** Empty strings, arrays and objects, and objects with only such values. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === '') return true;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return value.length === 0;
  for (const name of Object.keys(value)) if (!isEmpty((value as Record<string, unknown>)[name])) return false;
  return true;
}

type Fields = Readonly<Record<string, unknown>>;

const nothing: ReadonlySet<string> = new Set();

/** Whether two values are equal; empty and absent values are equal. */
function isEqualValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return isEmpty(a) && isEmpty(b);
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b)) return isEmpty(a) && isEmpty(b);
    return a.length === b.length && a.every((item, index) => isEqualValue(item, b[index]));
  }
  return isEqualStatus(a as Fields, b as Fields);
}

function isEqualStatus(a: Fields, b: Fields, skipped = nothing): boolean {
  for (const name of Object.keys(a))
    if (!skipped.has(name) && !isEqualValue(a[name], Object.hasOwn(b, name) ? b[name] : undefined)) return false;
  for (const name of Object.keys(b))
    if (!Object.hasOwn(a, name) && !skipped.has(name) && !isEmpty(b[name])) return false;
  return true;
}

/** Whether the fields that the kubelet writes are equal; empty and absent values are equal. */
export function isStatusEqualByKubelet(a: PodStatus, b: PodStatus): boolean {
  return a === b || (isEqualStatus(a as Fields, b as Fields, NOT_COMPARED) && haveSameConditions(a, b));
}

function illegalTransition(
  old: readonly ContainerStatus[],
  now: readonly ContainerStatus[],
  mayRestart: (name: string, exitCode: number) => boolean,
): string | undefined {
  const byName = firstByName(now);
  for (const before of old) {
    const ended = before.state?.terminated;
    const after = byName.get(before.name);
    if (ended === undefined || after === undefined || after.state?.terminated !== undefined) continue;
    if (!mayRestart(before.name, ended.exitCode))
      return `terminated container ${before.name} attempted illegal transition to non-terminated state`;
  }
  return undefined;
}

/** Why the new status is invalid: a terminated container that may not restart would run again. */
export function checkContainerStateTransition(pod: Pod, old: PodStatus, status: PodStatus): string | undefined {
  if ((pod.spec?.restartPolicy ?? 'Always') === 'Always') return undefined;
  const containers = firstByName(podContainers(pod.spec));
  const mayRestart = (name: string, exitCode: number): boolean => {
    const container = containers.get(name);
    return container === undefined || containerShouldRestart(container, pod, exitCode);
  };
  const sidecars = new Set(sidecarsOf(pod.spec).map(({ name }) => name));
  const initMayRestart = (name: string, exitCode: number): boolean =>
    sidecars.has(name) || (exitCode !== 0 && mayRestart(name, exitCode));
  return (
    illegalTransition(old.containerStatuses ?? [], status.containerStatuses ?? [], mayRestart) ??
    illegalTransition(old.initContainerStatuses ?? [], status.initContainerStatuses ?? [], initMayRestart)
  );
}

/** The status with equal parts of the other one, so that both share memory. */
export function withSharedFields(status: PodStatus, other: PodStatus): PodStatus {
  const others: Readonly<Record<string, unknown>> = { ...other };
  const shared = Object.entries(status).map(([name, value]) => [
    name,
    deepEqual(value, others[name]) ? others[name] : value,
  ]);
  return Object.fromEntries(shared) as PodStatus;
}
