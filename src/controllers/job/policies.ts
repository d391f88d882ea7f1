/** Pod failure policy and success policy. Pure. Upstream: controller/job/pod_failure_policy.go, success_policy.go. */
import type { JobSpec, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyRule } from '../../api/gen/batch-v1.ts';
import type { ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import { keyOfObject } from '../../client/object-store.ts';
import type { IndexSet } from './index-set.ts';
import { parseIndexes } from './indexes.ts';

/** The failure policy's action on a failed pod. */
export interface FailureMatch {
  /** Undefined when no rule matches, which is treated as `Count`. */
  readonly action?: string;
  /** Whether the failure counts towards the back-off limits. */
  readonly counts: boolean;
  /** The message of `FailJob`. */
  readonly message?: string;
}

/** The first matching rule applies. */
export function matchFailurePolicy(spec: JobSpec, pod: Pod): FailureMatch {
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const why = matchRule(rule, pod);
    if (why === undefined) continue;
    if (rule.action === 'FailJob')
      return { action: 'FailJob', counts: true, message: `${why} matching FailJob rule at index ${index}` };
    return { action: rule.action, counts: rule.action !== 'Ignore' };
  }
  return { counts: true };
}

function matchRule(rule: PodFailurePolicyRule, pod: Pod): string | undefined {
  if (rule.onExitCodes !== undefined) {
    const container = containerMatching(rule.onExitCodes, pod);
    if (container === undefined) return undefined;
    return `Container ${container.name} for pod ${keyOfObject(pod)} failed with exit code ${container.state?.terminated?.exitCode}`;
  }
  for (const pattern of rule.onPodConditions ?? []) {
    const condition = pod.status?.conditions?.find(
      (c) => c.type === pattern.type && c.status === (pattern.status ?? 'True'),
    );
    if (condition !== undefined) return `Pod ${keyOfObject(pod)} has condition ${condition.type}`;
  }
  return undefined;
}

function containerMatching(wanted: PodFailurePolicyOnExitCodesRequirement, pod: Pod): ContainerStatus | undefined {
  const statuses = [...(pod.status?.containerStatuses ?? []), ...(pod.status?.initContainerStatuses ?? [])];
  return statuses.find((status) => {
    if (wanted.containerName !== undefined && wanted.containerName !== status.name) return false;
    const exitCode = status.state?.terminated?.exitCode ?? 0;
    return exitCode !== 0 && wanted.values.includes(exitCode) === (wanted.operator === 'In');
  });
}

/** The message of the first success rule that is met. */
export function matchSuccessPolicy(spec: JobSpec, succeeded: IndexSet): string | undefined {
  for (const [index, rule] of (spec.successPolicy?.rules ?? []).entries()) {
    const wanted =
      rule.succeededIndexes === undefined ? undefined : parseIndexes(rule.succeededIndexes, spec.completions ?? 0);
    const done = wanted === undefined ? succeeded.size : succeeded.sharedWith(wanted);
    if (done >= (rule.succeededCount ?? wanted?.size ?? Infinity)) return `Matched rules at index ${index}`;
  }
  return undefined;
}
