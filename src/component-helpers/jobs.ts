/** What a job's status says. Upstream: controller/job/utils.go (FinishedCondition, IsJobFinished). */
import type { Job, JobCondition } from '../api/gen/batch-v1.ts';

/** The condition that ends the job, Complete or Failed; undefined while it runs. */
export function finishedCondition(job: Job): JobCondition | undefined {
  return job.status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
}

/** Complete or Failed: nothing more happens to the job. */
export function isJobFinished(job: Job): boolean {
  return finishedCondition(job) !== undefined;
}
