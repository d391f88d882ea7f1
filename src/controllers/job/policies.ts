/** Pod failure policy and success policy. Pure. Upstream: controller/job/pod_failure_policy.go, success_policy.go. */
import type {
  JobSpec,
  PodFailurePolicy,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
} from '../../api/gen/batch-v1.ts';
import type { ContainerStatus, Pod } from '../../api/gen/core-v1.ts';
import { getOrMake } from '../../base/get-or-make.ts';
import { StepMeter } from '../../base/steps.ts';
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
export function matchFailurePolicy({ podFailurePolicy: policy }: JobSpec, pod: Pod): FailureMatch {
  if (policy === undefined) return { counts: true };
  const known = getOrMake(matches, policy, () => new WeakMap<Pod, FailureMatch>());
  return getOrMake(known, pod, () => firstMatch(policy, pod));
}

/** By policy and pod: each sync asks for all pods that have failed, several times. */
const matches = new WeakMap<PodFailurePolicy, WeakMap<Pod, FailureMatch>>();

/** Statuses that are compared with rules in one turn. */
const COMPARISONS_PER_TURN = 20_000;

/** Matches failed pods in turns, so that later questions about them find the results. */
export async function matchInTurns(spec: JobSpec, pods: readonly Pod[], pause: () => Promise<void>): Promise<void> {
  const rules = spec.podFailurePolicy?.rules.length ?? 0;
  if (rules === 0) return;
  const meter = new StepMeter(COMPARISONS_PER_TURN);
  for (const pod of pods) {
    matchFailurePolicy(spec, pod);
    const { containerStatuses = [], initContainerStatuses = [], conditions = [] } = pod.status ?? {};
    const parts = 1 + containerStatuses.length + initContainerStatuses.length + conditions.length;
    if (meter.endsStep(rules * parts)) await pause();
  }
}

function firstMatch(policy: PodFailurePolicy, pod: Pod): FailureMatch {
  for (const [index, rule] of policy.rules.entries()) {
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
  const values = new Set(wanted.values);
  const isMatch = (status: ContainerStatus): boolean => {
    if (wanted.containerName !== undefined && wanted.containerName !== status.name) return false;
    const exitCode = status.state?.terminated?.exitCode ?? 0;
    return exitCode !== 0 && values.has(exitCode) === (wanted.operator === 'In');
  };
  return pod.status?.containerStatuses?.find(isMatch) ?? pod.status?.initContainerStatuses?.find(isMatch);
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
