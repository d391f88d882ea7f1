/** batch/v1. Upstream: registry/batch. */
import { setCronJobDefaults, setJobDefaults } from '../../../api/defaults/batch.ts';
import type { Job } from '../../../api/gen/batch-v1.ts';
import { CronJobs, Jobs } from '../../../api/gen/resources.ts';
import { validateCronJob, validateCronJobUpdate } from '../../../api/validation/cron-job.ts';
import { validateJobStatus } from '../../../api/validation/job-status.ts';
import { validateJob, validateJobUpdate } from '../../../api/validation/job.ts';
import { cronJobWarnings, jobWarnings } from '../../../api/warnings/workloads.ts';
import { defineResource } from '../define-resource.ts';
import { specOf } from '../kind-strategy.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { cronJobPrinter, jobPrinter } from './tables.ts';

/** Labels the pods with the job's uid and selects them by it. The uid must be set already. */
function generateSelector(job: Job): void {
  const spec = job.spec;
  if (spec?.template === undefined || spec.manualSelector === true) return;
  const metadata = (spec.template.metadata ??= {});
  const labels = (metadata.labels ??= {});
  const { uid = '', name = '' } = job.metadata;
  labels['controller-uid'] ??= uid;
  labels['job-name'] ??= name;
  labels['batch.kubernetes.io/controller-uid'] ??= uid;
  labels['batch.kubernetes.io/job-name'] ??= name;
  const selector = (spec.selector ??= {});
  (selector.matchLabels ??= {})['batch.kubernetes.io/controller-uid'] ??= uid;
}

const PODS_ARE_KEPT =
  'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning';

export const batchDefinitions: readonly ResourceDefinition[] = [
  defineResource(Jobs, {
    rules: {
      emptyStatus: {},
      generationOf: specOf,
      defaults: setJobDefaults,
      prepareForCreate: generateSelector,
      validate: validateJob,
      validateUpdate: validateJobUpdate,
      warnings: jobWarnings,
    },
    statusRules: { validateUpdate: validateJobStatus },
    printer: jobPrinter,
    defaultPropagation: 'Orphan',
    deletionWarning: PODS_ARE_KEPT,
    selectableFields: ({ status }) => ({ 'status.successful': String(status?.succeeded ?? 0) }),
  }),
  defineResource(CronJobs, {
    rules: {
      emptyStatus: {},
      generationOf: specOf,
      defaults: setCronJobDefaults,
      validate: validateCronJob,
      validateUpdate: validateCronJobUpdate,
      warnings: cronJobWarnings,
    },
    printer: cronJobPrinter,
  }),
];
