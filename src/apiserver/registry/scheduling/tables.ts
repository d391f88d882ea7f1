/** Columns of pod groups in `kubectl get`. Upstream: printers/internalversion. */
import type { PodGroup } from '../../../api/gen/scheduling-v1alpha2.ts';
import { ageCell, ageColumn, column, printerOf } from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

function stateOf({ status }: PodGroup): string {
  const conditions = status?.conditions ?? [];
  const disruption = conditions.findLast(({ type }) => type === 'DisruptionTarget');
  if (disruption !== undefined) return disruption.reason ?? '';
  const scheduled = conditions.findLast(({ type }) => type === 'PodGroupScheduled');
  if (scheduled === undefined) return 'Pending';
  return scheduled.status === 'True' ? 'Scheduled' : 'Unschedulable';
}

export const podGroupPrinter: Printer<PodGroup> = printerOf(
  [column('Policy'), column('Workload'), column('Status'), ageColumn],
  (group, nowMs) => [
    group.spec?.schedulingPolicy?.gang === undefined ? 'Basic' : 'Gang',
    group.spec?.podGroupTemplateRef === undefined
      ? '<none>'
      : (group.spec.podGroupTemplateRef.workload?.workloadName ?? ''),
    stateOf(group),
    ageCell(group, nowMs),
  ],
);
