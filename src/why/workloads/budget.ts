/** Explains why a pod disruption budget allows no eviction. */
import { PodDisruptionBudgets, Pods } from '../../api/gen/resources.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { PodDisruptionBudget } from '../../api/gen/policy-v1.ts';
import { compileLabelSelector, formatLabelSelector } from '../../api/label-selector.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis, type ObjectName } from '../explanation.ts';
import { inNamespace, nameOfObject } from '../object-name.ts';
import { diagnoseUnobserved } from './observed.ts';
import { unreadyPodCauses } from './owned-pods.ts';

/** The limit of pods that are listed. */
const MAX_NAMED = 3;

export async function explainBudget(budget: PodDisruptionBudget, evidence: Evidence): Promise<Diagnosis> {
  const { disruptionsAllowed = 0, currentHealthy = 0, desiredHealthy = 0, expectedPods = 0 } = budget.status ?? {};
  const evictions = disruptionsAllowed === 1 ? 'eviction' : 'evictions';
  const summary = `allows ${disruptionsAllowed} ${evictions}: ${currentHealthy} of ${expectedPods} pods are healthy, ${desiredHealthy} have to be`;
  const unobserved = diagnoseUnobserved(PodDisruptionBudgets, budget, evidence.nowMs);
  if (unobserved !== undefined) return { ...unobserved, summary };
  const shared = await sharedPodCauses(budget, evidence);
  if (shared.length > 0) return { state: 'Trouble', summary, causes: shared };
  if (disruptionsAllowed > 0) return { state: 'Fine', summary, causes: [] };
  const object = nameOfObject(PodDisruptionBudgets, budget);
  const failed = conditionOf(budget, 'DisruptionAllowed');
  if (failed?.reason === 'SyncFailed')
    return {
      state: 'Trouble',
      summary,
      causes: [
        cause({
          code: 'SyncFailed',
          object,
          message: 'the disruption controller cannot compute it',
          facts: failed.message === undefined ? [] : [failed.message],
          cure: { text: 'see that its pods have a controller with a scale, or give minAvailable as a number' },
        }),
      ],
    };
  return { state: 'Trouble', summary, causes: [await healthCause(budget, evidence)] };
}

/** Other budgets that select some of its pods: a pod with two budgets cannot be evicted, whatever they allow. */
async function sharedPodCauses(budget: PodDisruptionBudget, evidence: Evidence): Promise<readonly Cause[]> {
  const { namespace = '', name } = budget.metadata;
  const budgets = (await evidence.list(PodDisruptionBudgets, { namespace })).filter(
    ({ metadata }) => metadata.name !== name,
  );
  if (budgets.length === 0) return [];
  const pods = await podsOf(budget, evidence);
  return budgets.flatMap((other) => {
    const selector = compileLabelSelector(other.spec?.selector);
    const pod = pods.find(({ metadata }) => selector.matches(metadata.labels));
    if (pod === undefined) return [];
    const object = nameOfObject(PodDisruptionBudgets, other);
    return [
      cause({
        code: 'PodHasTwoBudgets',
        object,
        message: `budget ${object.name} selects pod ${pod.metadata.name} too, and a pod with two budgets cannot be evicted`,
        cure: {
          text: 'give the budgets selectors without a pod in common, or delete one of them',
          command: `kubectl get pdb -o wide${inNamespace(object)}`,
        },
      }),
    ];
  });
}

function podsOf(budget: PodDisruptionBudget, evidence: Evidence): Promise<readonly Pod[]> {
  const { namespace = '' } = budget.metadata;
  const labelSelector = formatLabelSelector(budget.spec?.selector);
  return evidence.list(Pods, { namespace, ...(labelSelector === '' ? {} : { labelSelector }) });
}

async function healthCause(budget: PodDisruptionBudget, evidence: Evidence): Promise<Cause> {
  const { currentHealthy = 0, desiredHealthy = 0, expectedPods = 0 } = budget.status ?? {};
  const object = nameOfObject(PodDisruptionBudgets, budget);
  const pods = await podsOf(budget, evidence);
  const unmanaged = pods.filter((pod) => controllerOf(pod) === undefined);
  if (expectedPods === 0 && unmanaged.length > 0) return unmanagedCause(object, unmanaged);
  if (expectedPods === 0 && pods.length === 0)
    return cause({
      code: 'SelectsNoPods',
      object,
      message: 'its selector matches no pod',
      cure: { text: 'mend spec.selector', command: `kubectl edit pdb ${object.name}${inNamespace(object)}` },
    });
  if (desiredHealthy >= expectedPods)
    return cause({
      code: 'BudgetAllowsNone',
      object,
      message: `it asks for all of its ${expectedPods} pods to stay, so none may ever be evicted`,
      cure: { text: 'raise the replicas, or lower minAvailable (raise maxUnavailable)', command: lowering(budget) },
    });
  return cause({
    code: 'TooFewHealthy',
    object,
    message: `${currentHealthy} pods are healthy, and ${desiredHealthy} have to stay`,
    cure: { text: 'make the pods that are not ready ready' },
    because: await unreadyPodCauses(pods, evidence),
  });
}

/** The cause when no controller states the expected number of pods. */
function unmanagedCause(object: ObjectName, pods: readonly Pod[]): Cause {
  const names = pods.slice(0, MAX_NAMED).map(({ metadata }) => metadata.name);
  return cause({
    code: 'UnmanagedPods',
    object,
    message: `its pods have no controller, so that how many there are to be is not known: ${names.join(', ')}`,
    cure: { text: 'give minAvailable as a number, or run the pods by a controller, such as a deployment' },
  });
}

/** The command that allows one more eviction; undefined when the budget is a percentage. */
function lowering({ metadata, spec }: PodDisruptionBudget): string | undefined {
  const { minAvailable, maxUnavailable } = spec ?? {};
  const change =
    typeof minAvailable === 'number' && minAvailable > 0
      ? { minAvailable: minAvailable - 1 }
      : maxUnavailable === 0
        ? { maxUnavailable: 1 }
        : undefined;
  if (change === undefined) return undefined;
  return `kubectl patch pdb ${metadata.name}${inNamespace(metadata)} --type=merge -p '${JSON.stringify({ spec: change })}'`;
}
