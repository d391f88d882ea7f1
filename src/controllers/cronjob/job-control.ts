/** Creates, replaces and deletes the jobs of cron jobs, with an event for each. Upstream: cronjob jobControlInterface. */
import { Jobs } from '../../api/gen/resources.ts';
import type { CronJob, Job } from '../../api/gen/batch-v1.ts';
import { ignoreNotFound, isReason } from '../../api/status-error.ts';
import type { Stored } from '../../api/object.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client, ResourceClient } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { controllerOf } from '../../component-helpers/owner-references.ts';
import { isNamespaceTerminating } from '../controller.ts';

export class JobControl {
  readonly #jobs: ResourceClient<Job>;
  readonly #recorder: EventRecorder;

  constructor(client: Client, recorder: EventRecorder) {
    this.#jobs = client.resource(Jobs);
    this.#recorder = recorder;
  }

  /** Reads the server, since the cache may lack a job that was just created. */
  async exists(cronJob: Stored<CronJob>, name: string, signal: AbortSignal): Promise<boolean> {
    const { namespace } = cronJob.metadata;
    return (await this.#jobs.get({ namespace, name }, { signal }).catch(ignoreNotFound)) !== undefined;
  }

  /** Undefined when the namespace is terminating, or when the name belongs to a job of another owner. */
  async create(cronJob: CronJob, job: Job, signal: AbortSignal): Promise<Stored<Job> | undefined> {
    try {
      const created = await this.#jobs.create(job, { signal });
      this.#recorder.event(cronJob, 'Normal', 'SuccessfulCreate', `Created job ${created.metadata.name}`);
      return created;
    } catch (error) {
      if (isNamespaceTerminating(error)) return undefined;
      if (!isReason(error, 'AlreadyExists')) {
        this.#recorder.event(cronJob, 'Warning', 'FailedCreate', `Error creating job: ${errorMessage(error)}`);
        throw error;
      }
      // An earlier sync created it and failed to write the status.
      const { namespace = '', name = '' } = job.metadata;
      const existing = await this.#jobs.get({ namespace, name }, { signal });
      return controllerOf(existing)?.uid === cronJob.metadata.uid ? existing : undefined;
    }
  }

  /** Deletes a job to make room for the next one. Rejects when it cannot be deleted. */
  async replace(cronJob: Stored<CronJob>, name: string, signal: AbortSignal): Promise<void> {
    const { namespace } = cronJob.metadata;
    let job: Stored<Job> | undefined;
    try {
      job = await this.#jobs.get({ namespace, name }, { signal }).catch(ignoreNotFound);
    } catch (error) {
      this.#recorder.event(cronJob, 'Warning', 'FailedGet', `Get job: ${errorMessage(error)}`);
      throw error;
    }
    if (job !== undefined && !(await this.delete(cronJob, job, signal)))
      throw new Error(`could not replace job ${namespace}/${name}`);
  }

  /** Resolves to whether the job is deleted or being deleted. */
  async delete(cronJob: CronJob, job: Stored<Job>, signal: AbortSignal): Promise<boolean> {
    const { namespace, name } = job.metadata;
    try {
      await this.#jobs.delete({ namespace, name }, { propagationPolicy: 'Background', signal });
      this.#recorder.event(cronJob, 'Normal', 'SuccessfulDelete', `Deleted job ${name}`);
    } catch (error) {
      if (signal.aborted) throw error;
      if (isReason(error, 'NotFound')) return true;
      this.#recorder.event(cronJob, 'Warning', 'FailedDelete', `Deleted job: ${errorMessage(error)}`);
      return false;
    }
    return true;
  }
}
