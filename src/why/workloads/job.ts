/** Why a job has not completed. */
import { Jobs } from '../../api/gen/resources.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import { conditionCause, conditionOf } from '../conditions.ts';
import type { Evidence } from '../evidence.ts';
import { cause, type Cause, type Diagnosis } from '../explanation.ts';
import { inNamespace, nameOfObject } from '../object-name.ts';
import { failedPodCauses, ownedPods, unreadyPodCauses } from './owned-pods.ts';
import { refusedPodCauses } from './refused-pods.ts';

export async function explainJob(job: Job, evidence: Evidence): Promise<Diagnosis> {
  const { succeeded = 0, failed = 0, active = 0 } = job.status ?? {};
  const completions = job.spec?.completions ?? 1;
  const summary = `has ${succeeded} of ${completions} completions, ${active} pods active, ${failed} failed`;
  if (conditionOf(job, 'Complete')?.status === 'True') return { state: 'Fine', summary, causes: [] };
  if (job.spec?.suspend === true) return { state: 'Trouble', summary, causes: [suspendedCause(job)] };
  const pods = await ownedPods(job, job.spec?.selector, evidence);
  const failures = await failedPodCauses(pods, evidence);
  const end = conditionOf(job, 'Failed');
  if (end?.status === 'True') {
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

function suspendedCause(job: Job): Cause {
  const object = nameOfObject(Jobs, job);
  return cause({
    code: 'Suspended',
    object,
    message: 'it is suspended',
    cure: {
      text: 'resume it',
      command: `kubectl patch job ${object.name}${inNamespace(object)} -p '{"spec":{"suspend":false}}'`,
    },
  });
}
