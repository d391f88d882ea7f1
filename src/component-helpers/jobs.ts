/** The state of a job, by its status. Upstream: controller/job/utils.go (FinishedCondition, IsJobFinished). */
import type { Job, JobCondition } from '../api/gen/batch-v1.ts';

/** The condition that ends the job, Complete or Failed; undefined while it runs. */
export function finishedCondition(job: Job): JobCondition | undefined {
  return job.status?.conditions?.find(
    ({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True',
  );
}

/** Whether the job is Complete or Failed, after which nothing more happens to it. */
export function isJobFinished(job: Job): boolean {
  return finishedCondition(job) !== undefined;
}
