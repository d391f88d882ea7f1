/**
 * Deletes a pod unless a disruption budget forbids it. Upstream: EvictionREST and checkAndDecrement in
 * registry/core/pod/storage/eviction.go.
 */
import type { Pod } from '../../../../api/gen/core-v1.ts';
import type { DeleteOptions } from '../../../../api/gen/meta-v1.ts';
import type { Eviction, PodDisruptionBudget } from '../../../../api/gen/policy-v1.ts';
import { PodDisruptionBudgets, Pods } from '../../../../api/gen/resources.ts';
import { compileLabelSelector } from '../../../../api/label-selector.ts';
import { isPodPhaseTerminal } from '../../../../api/pod-phase.ts';
import {
  badRequest,
  forbidden,
  notFound,
  statusFailure,
  tooManyRequests,
  type StatusError,
} from '../../../../api/status-error.ts';
import { formatTime } from '../../../../api/time.ts';
import { stepByStep, StepMeter, type Steps } from '../../../../base/steps.ts';
import type { KubernetesObject, Stored } from '../../../../api/object.ts';
import { DISRUPTION_ALLOWED, disruptionAllowed } from '../../../../component-helpers/disruption-allowed.ts';
import { isPodReady } from '../../../../component-helpers/pods.ts';
import { recordFault } from '../../../refused-requests/refusal-source.ts';
import type { NamedCreateRequest } from '../../resource-definition.ts';
import { checkPreconditions } from '../../preconditions.ts';
import { successStatus } from '../../success-status.ts';
import type { BindingDeps } from './binding.ts';

/** A budget with more recorded disrupted pods is not being updated by its controller. */
const MAX_DISRUPTED_PODS = 2000;
const REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget.";
const PODS = { group: '', resource: 'pods' };
const BUDGETS = { group: 'policy', resource: 'poddisruptionbudgets' };

/**
 * Whether the pod may be evicted regardless of budgets: it is finished, pending or being deleted. Upstream:
 * canIgnorePDB.
 */
function ignoresBudgets(pod: Pod): boolean {
  const { phase } = pod.status ?? {};
  return isPodPhaseTerminal(phase) || phase === 'Pending' || pod.metadata.deletionTimestamp !== undefined;
}

function budgetRefusal(message: string, retryAfterSeconds: number): StatusError {
  return tooManyRequests(REFUSAL, retryAfterSeconds, [{ reason: 'DisruptionBudget', message }]);
}

function checkBudget(budget: Stored<PodDisruptionBudget>, namespace: string): void {
  const name = budget.metadata.name;
  const fault = <E>(error: E): E => recordFault(error, BUDGETS, { namespace, name });
  const {
    observedGeneration = 0,
    disruptionsAllowed = 0,
    disruptedPods = {},
    desiredHealthy = 0,
    currentHealthy = 0,
  } = budget.status ?? {};
  if (observedGeneration < (budget.metadata.generation ?? 0)) {
    throw fault(budgetRefusal(`The disruption budget ${name} is still being processed by the server.`, 10));
  }
  if (disruptionsAllowed < 0) throw fault(forbidden(BUDGETS, name, 'pdb disruptions allowed is negative'));
  if (Object.keys(disruptedPods).length > MAX_DISRUPTED_PODS) {
    throw fault(
      forbidden(BUDGETS, name, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller'),
    );
  }
  if (disruptionsAllowed === 0) {
    const why = `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
    throw fault(budgetRefusal(why, 0));
  }
}

function withDisruptionUsed(budget: PodDisruptionBudget, podName: string, now: string): PodDisruptionBudget {
  const status = { ...budget.status, disruptionsAllowed: (budget.status?.disruptionsAllowed ?? 0) - 1 };
  status.disruptedPods = { ...status.disruptedPods, [podName]: now };
  if (status.disruptionsAllowed === 0) {
    status.conditions = (status.conditions ?? []).map((condition) =>
      condition.type === DISRUPTION_ALLOWED && condition.status === 'True'
        ? { ...condition, ...disruptionAllowed(false), lastTransitionTime: now }
        : condition,
    );
  }
  return { ...budget, status };
}

/** Whether an unready pod may be evicted without using the budget. Upstream: unhealthyPodEvictionPolicy. */
function mayGoUnhealthy(pod: Pod, budget: PodDisruptionBudget): boolean {
  if (isPodReady(pod)) return false;
  if (budget.spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = budget.status ?? {};
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

/** Requirements that are compared in one step. */
const REQUIREMENTS_PER_STEP = 20_000;

function* budgetsOf(
  { metadata }: Pod,
  all: readonly Stored<PodDisruptionBudget>[],
): Steps<Stored<PodDisruptionBudget>[]> {
  const meter = new StepMeter(REQUIREMENTS_PER_STEP);
  const podDisruptionBudgets: Stored<PodDisruptionBudget>[] = [];
  for (const budget of all) {
    const selector = compileLabelSelector(budget.spec?.selector);
    if (selector.matches(metadata.labels)) podDisruptionBudgets.push(budget);
    if (meter.endsStep(1 + selector.size)) yield;
  }
  return podDisruptionBudgets;
}

async function spendBudget(
  deps: BindingDeps,
  pod: Pod,
  { dryRun, context }: Pick<NamedCreateRequest, 'dryRun' | 'context'>,
): Promise<void> {
  const { namespace = '', name = '' } = pod.metadata;
  const all = deps.objects.list(PodDisruptionBudgets, namespace);
  const budgets = await stepByStep(budgetsOf(pod, all), () => context.nextStep?.());
  if (budgets.length === 0) return;
  if (budgets.length > 1) {
    const refusal = statusFailure(
      500,
      'InternalError',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
    throw recordFault(refusal, BUDGETS, { namespace, name: budgets[0]!.metadata.name });
  }
  const budget = budgets[0]!;
  if (mayGoUnhealthy(pod, budget)) return;
  const now = formatTime(deps.clock.nowMs());
  await deps.objects.guaranteedUpdate(PodDisruptionBudgets, namespace, budget.metadata.name, (current) => {
    checkBudget(current, namespace);
    return dryRun ? undefined : withDisruptionUsed(current, name, now);
  });
}

function markedForEviction(pod: Pod, now: string): Pod {
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime: now,
  };
  const others = (pod.status?.conditions ?? []).filter((other) => other.type !== 'DisruptionTarget');
  return { ...pod, status: { ...pod.status, conditions: [...others, condition] } };
}

/** `kubectl drain --dry-run=server` sends dryRun in the body. Throws 400 when the query contradicts it. */
function isDryRun({ deleteOptions }: Eviction, inQuery: boolean): boolean {
  const inBody = deleteOptions?.dryRun ?? [];
  const unknown = inBody.find((one) => one !== 'All');
  if (unknown !== undefined) throw badRequest(`deleteOptions.dryRun: Unsupported value: ${JSON.stringify(unknown)}`);
  return inQuery || inBody.length > 0;
}

/** Evicts one pod. Throws TooManyRequests when its budget allows no disruption at present. */
export async function evictPod(deps: BindingDeps, request: NamedCreateRequest): Promise<KubernetesObject> {
  const { namespace, name, context } = request;
  const eviction = request.body as Eviction;
  const dryRun = isDryRun(eviction, request.dryRun);
  if ((eviction.metadata?.name ?? name) !== name)
    throw badRequest('name in URL does not match name in Eviction object');
  const pod = await deps.objects.getFresh(Pods, namespace, name);
  if (pod === undefined) throw notFound(PODS, name);
  if (!ignoresBudgets(pod)) await spendBudget(deps, pod, { dryRun, context });
  const options: DeleteOptions = { ...eviction.deleteOptions, ...(dryRun ? { dryRun: ['All'] } : {}) };
  if (!dryRun && pod.metadata.deletionTimestamp === undefined) {
    const now = formatTime(deps.clock.nowMs());
    const { resourceVersion } = (
      await deps.objects.guaranteedUpdate(Pods, namespace, name, (current) => {
        checkPreconditions(Pods, current, options);
        return markedForEviction(current, now);
      })
    ).metadata;
    // The caller's precondition names the revision before the mark; the delete needs the one after.
    if (options.preconditions?.resourceVersion !== undefined)
      options.preconditions = { ...options.preconditions, resourceVersion: resourceVersion! };
  }
  await deps.objects.delete(Pods, { namespace, name }, options, context);
  return successStatus();
}
