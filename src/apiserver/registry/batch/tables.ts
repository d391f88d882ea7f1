/** Columns of batch resources in `kubectl get`. Upstream: printers/internalversion. */
import { ageOf, humanDuration } from '../../../api/age.ts';
import type { CronJob, Job } from '../../../api/gen/batch-v1.ts';
import { parseTime } from '../../../api/time.ts';
import {
  ageCell,
  ageColumn,
  booleanColumn,
  column,
  containerCells,
  containerColumns,
  formatSelectorCell,
  integerColumn,
  printerOf,
  wide,
} from '../printing.ts';
import type { Printer } from '../resource-definition.ts';

function jobStatus(job: Job): string {
  const has = (type: string) =>
    (job.status?.conditions ?? []).some((condition) => condition.type === type && condition.status === 'True');
  if (has('Complete')) return 'Complete';
  if (has('Failed')) return 'Failed';
  if (job.metadata.deletionTimestamp !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(has) ?? 'Running';
}

function completions(job: Job): string {
  const succeeded = job.status?.succeeded ?? 0;
  const { completions: wanted, parallelism = 0 } = job.spec ?? {};
  if (wanted !== undefined) return `${succeeded}/${wanted}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function duration(job: Job, nowMs: number): string {
  const startMs = parseTime(job.status?.startTime);
  if (Number.isNaN(startMs)) return '';
  const endMs = parseTime(job.status?.completionTime);
  return humanDuration((Number.isNaN(endMs) ? nowMs : endMs) - startMs);
}

export const jobPrinter: Printer<Job> = printerOf(
  [
    column('Status'),
    column('Completions'),
    column('Duration'),
    ageColumn,
    ...containerColumns,
    wide(column('Selector')),
  ],
  (job, nowMs) => [
    jobStatus(job),
    completions(job),
    duration(job, nowMs),
    ageCell(job, nowMs),
    ...containerCells(job.spec?.template?.spec),
    formatSelectorCell(job.spec?.selector),
  ],
);

function suspended(value: boolean | undefined): string {
  return value === undefined ? '<unset>' : value ? 'True' : 'False';
}

export const cronJobPrinter: Printer<CronJob> = printerOf(
  [
    column('Schedule'),
    column('Timezone'),
    booleanColumn('Suspend'),
    integerColumn('Active'),
    column('Last Schedule'),
    ageColumn,
    ...containerColumns,
    wide(column('Selector')),
  ],
  (cronJob, nowMs) => {
    const { spec, status } = cronJob;
    const last = status?.lastScheduleTime === undefined ? '<none>' : ageOf(status.lastScheduleTime, nowMs);
    return [
      spec.schedule,
      spec.timeZone ?? '<none>',
      suspended(spec.suspend),
      (status?.active ?? []).length,
      last,
      ageCell(cronJob, nowMs),
      ...containerCells(spec.jobTemplate?.spec?.template?.spec),
      formatSelectorCell(spec.jobTemplate?.spec?.selector),
    ];
  },
);
