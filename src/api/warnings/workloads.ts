/** Warnings about kinds that create pods. Upstream: WarningsOnCreate and WarningsOnUpdate of registry/apps, batch and core. */
import type { DaemonSet, Deployment, ReplicaSet, StatefulSet } from '../gen/apps-v1.ts';
import type { CronJob, Job, JobSpec } from '../gen/batch-v1.ts';
import type { PodTemplate, PodTemplateSpec, ReplicationController } from '../gen/core-v1.ts';
import type { KubernetesObject } from '../object.ts';
import { deepEqual } from '../../base/equal.ts';
import { podNameWarnings, podTemplateWarnings } from './pod.ts';
import { claimSpecWarnings } from './volumes.ts';

interface Workload extends KubernetesObject {
  readonly spec?: { readonly template?: PodTemplateSpec };
}

/** Whether an update changes the spec. Other updates cause no warnings, because their author did not write the spec. */
function isNewSpec(object: KubernetesObject, old: KubernetesObject | undefined): boolean {
  return old === undefined || object.metadata.generation !== old.metadata.generation;
}

/** Warnings about workloads whose name is part of their pods' names. */
export function workloadWarnings(
  workload: Deployment | ReplicaSet | ReplicationController,
  old: Deployment | ReplicaSet | ReplicationController | undefined,
): string[] {
  const { metadata, spec }: Workload = workload;
  const names = old === undefined ? podNameWarnings(metadata.name) : [];
  return [...names, ...(isNewSpec(workload, old) ? podTemplateWarnings(spec?.template, 'spec.template') : [])];
}

/** Only a change of the template causes warnings. */
export function daemonSetWarnings({ spec }: DaemonSet, old: DaemonSet | undefined): string[] {
  const isNew = old === undefined || !deepEqual(spec?.template, old.spec?.template);
  return isNew ? podTemplateWarnings(spec?.template, 'spec.template') : [];
}

export function statefulSetWarnings(set: StatefulSet, old: StatefulSet | undefined): string[] {
  const { template, volumeClaimTemplates = [], revisionHistoryLimit = 0 } = set.spec ?? {};
  return [
    ...(isNewSpec(set, old) ? podTemplateWarnings(template, 'spec.template') : []),
    ...volumeClaimTemplates.flatMap(({ spec = {} }, index) =>
      claimSpecWarnings(spec, `spec.volumeClaimTemplates[${index}]${old === undefined ? '' : '.Spec'}`),
    ),
    ...(revisionHistoryLimit < 0
      ? ['spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended']
      : []),
  ];
}

export function podTemplateObjectWarnings(object: PodTemplate, old: PodTemplate | undefined): string[] {
  return isNewSpec(object, old) ? podTemplateWarnings(object.template, 'template') : [];
}

const MAX_TRACKED_COMPLETIONS = 100_000;
const MAX_TRACKED_PARALLELISM = 10_000;
const UNTRACKED =
  'In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail';

function jobSpecWarnings(spec: JobSpec | undefined, path: string): string[] {
  const { completionMode, completions = 0, parallelism = 0 } = spec ?? {};
  const isLarge = completions > MAX_TRACKED_COMPLETIONS && parallelism > MAX_TRACKED_PARALLELISM;
  return [
    ...(completionMode === 'Indexed' && isLarge ? [`${path}: ${UNTRACKED}`] : []),
    ...podTemplateWarnings(spec?.template, `${path}.template`),
  ];
}

export function jobWarnings(job: Job, old: Job | undefined): string[] {
  const names = old === undefined ? podNameWarnings(job.metadata.name) : [];
  return [...names, ...(isNewSpec(job, old) ? jobSpecWarnings(job.spec, 'spec') : [])];
}

const NO_ZONE_IN_SCHEDULE =
  'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details';

export function cronJobWarnings(cronJob: CronJob, old: CronJob | undefined): string[] {
  const { metadata, spec } = cronJob;
  const names = old === undefined ? podNameWarnings(metadata.name) : [];
  const job = isNewSpec(cronJob, old) ? jobSpecWarnings(spec?.jobTemplate?.spec, 'spec.jobTemplate.spec') : [];
  const hasZone = old !== undefined && spec?.schedule?.includes('TZ') === true;
  return [...names, ...job, ...(hasZone ? [NO_ZONE_IN_SCHEDULE] : [])];
}
