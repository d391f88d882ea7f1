import { PodDisruptionBudgets } from '../../api/gen/resources.ts';
import type { ExclusiveWrites } from '../exclusive-write.ts';

/** Counts and conditions of budgets; what they still allow is also lowered by evictions. */
export const disruptionWrites: ExclusiveWrites = {
  account: 'disruption-controller',
  writes: [
    {
      resource: PodDisruptionBudgets,
      fields: [
        ['status', 'conditions'],
        ['status', 'currentHealthy'],
        ['status', 'desiredHealthy'],
        ['status', 'expectedPods'],
      ],
    },
  ],
};
