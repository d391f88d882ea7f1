/** Explains why a job has not completed. */
import { Jobs } from '../../api/gen/resources.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { inNamespace, nameOfObject } from '../object-name.ts';
import { isNew } from './observed.ts';
import { failedPodCauses, ownedPods, unreadyPodCauses } from './owned-pods.ts';
import { refusedPodCauses } from './refused-pods.ts';

export async function explainJob(job: Job, evidence: Evidence): Promise<Diagnosis> {
  const { succeeded = 0, failed = 0, active = 0 } = job.status ?? {};
  const completions = job.spec?.completions ?? 1;
  const summary = `has ${succeeded} of ${completions} completions, ${active} pods active, ${failed} failed`;
  if (conditionOf(job, 'Complete')?.status === 'True') return { state: 'Fine', summary, causes: [] };
  const end = [conditionOf(job, 'Failed'), conditionOf(job, 'FailureTarget')].find((one) => one?.status === 'True');
  const held = end === undefined ? heldCauses(job, evidence.nowMs) : [];
  if (held.length > 0) return { state: 'Trouble', summary, causes: held };
  const pods = await ownedPods(job, job.spec?.selector, evidence);
  const failures = await failedPodCauses(pods, evidence);
  if (end !== undefined) {
    const ended = { ...conditionCause(Jobs, job, end), message: `it has failed (${end.reason})`, because: failures };
    return { state: 'Trouble', summary: `has failed: ${summary}`, causes: [ended] };
  }
  const causes = [
    ...(await refusedPodCauses(Jobs, job, evidence)),
    ...(await unreadyPodCauses(pods, evidence)),
    ...failures,
  ];
  return { state: causes.length === 0 ? 'Progressing' : 'Trouble', summary, causes };
}

/** The reasons why the controller starts no pods for the job. */
function heldCauses(job: Job, nowMs: number): readonly Cause[] {
  if (job.spec?.suspend === true)
    return [suspendedCause(job, { message: 'it is suspended', cure: 'resume it', spec: { suspend: false } })];
  const foreign = managerCauses(job, nowMs);
  const isEmpty = job.spec?.parallelism === 0 && (job.status?.active ?? 0) === 0;
  if (foreign.length > 0 || !isEmpty) return foreign;
  const message = 'its parallelism is 0: no pod is started';
  return [suspendedCause(job, { message, cure: 'raise its parallelism', spec: { parallelism: 1 } })];
}

/** The value of `managedBy` for jobs of the controller manager. */
const OWN_MANAGER = 'kubernetes.io/job-controller';

/** Another controller manages the job and has not started it. */
function managerCauses(job: Job, nowMs: number): readonly Cause[] {
  const { managedBy = OWN_MANAGER } = job.spec ?? {};
  const { startTime, conditions = [] } = job.status ?? {};
  if (managedBy === OWN_MANAGER || startTime != null || conditions.length > 0 || isNew(job, nowMs)) return [];
  return [
    cause({
      code: 'ManagedElsewhere',
      object: nameOfObject(Jobs, job),
      message: `it is left to the controller ${managedBy} (spec.managedBy), which has reported nothing about it`,
      cure: { text: `run the controller ${managedBy}, or create the job without spec.managedBy` },
    }),
  ];
}

/** A suspended job, with the field of its spec that resumes it. */
function suspendedCause(job: Job, why: { message: string; cure: string; spec: object }): Cause {
  const object = nameOfObject(Jobs, job);
  return cause({
    code: 'Suspended',
    object,
    message: why.message,
    cure: {
      text: why.cure,
      command: `kubectl patch job ${object.name}${inNamespace(object)} -p '${JSON.stringify({ spec: why.spec })}'`,
    },
  });
}
