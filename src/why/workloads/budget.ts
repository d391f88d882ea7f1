/** Why a pod disruption budget allows no eviction. */
import { PodDisruptionBudgets, Pods } from '../../api/gen/resources.ts';
import type { PodDisruptionBudget } from '../../api/gen/policy-v1.ts';
import { formatLabelSelector } from '../../api/label-selector.ts';
import { conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { nameOfObject } from '../object-name.ts';
import { isObserved, notObservedCause } from './observed.ts';
import { unreadyPodCauses } from './owned-pods.ts';

export async function explainBudget(budget: PodDisruptionBudget, evidence: Evidence): Promise<Diagnosis> {
  const { disruptionsAllowed = 0, currentHealthy = 0, desiredHealthy = 0, expectedPods = 0 } = budget.status ?? {};
  const summary = `allows ${disruptionsAllowed} evictions: ${currentHealthy} of ${expectedPods} pods are healthy, ${desiredHealthy} have to be`;
  if (!isObserved(budget))
    return { state: 'Trouble', summary, causes: [notObservedCause(PodDisruptionBudgets, budget)] };
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

async function healthCause(budget: PodDisruptionBudget, evidence: Evidence): Promise<Cause> {
  const { currentHealthy = 0, desiredHealthy = 0, expectedPods = 0 } = budget.status ?? {};
  const object = nameOfObject(PodDisruptionBudgets, budget);
  if (expectedPods === 0)
    return cause({
      code: 'SelectsNoPods',
      object,
      message: 'its selector matches no pod',
      cure: { text: 'mend spec.selector' },
    });
  if (desiredHealthy >= expectedPods)
    return cause({
      code: 'BudgetAllowsNone',
      object,
      message: `it asks for all of its ${expectedPods} pods to stay, so none may ever be evicted`,
      cure: { text: 'raise the replicas, or lower minAvailable (raise maxUnavailable)' },
    });
  const { namespace = '' } = budget.metadata;
  const labelSelector = formatLabelSelector(budget.spec?.selector);
  const pods = await evidence.list(Pods, { namespace, ...(labelSelector === '' ? {} : { labelSelector }) });
  return cause({
    code: 'TooFewHealthy',
    object,
    message: `${currentHealthy} pods are healthy, and ${desiredHealthy} have to stay`,
    cure: { text: 'make the pods that are not ready ready' },
    because: await unreadyPodCauses(pods, evidence),
  });
}
