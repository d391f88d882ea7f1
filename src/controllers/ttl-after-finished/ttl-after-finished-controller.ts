/**
 * Deletes finished jobs after their time to live. Upstream: pkg/controller/ttlafterfinished.
 *
 * Watches: Jobs. Writes alone: the deletion of finished jobs whose `ttlSecondsAfterFinished` is over.
 */
import { finishedCondition } from '../../component-helpers/jobs.ts';
import { Jobs } from '../../api/gen/resources.ts';
import { isReason } from '../../api/status-error.ts';
import { parseTime } from '../../api/time.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import { keyOfObject, parseKey } from '../../client/object-store.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const NAME = 'ttl-after-finished-controller';
const WORKERS = 5;

/** When the job is deleted; undefined while it runs or without a time to live. */
function expiresAtMs(job: Job): number | undefined {
  const ttlSeconds = job.spec?.ttlSecondsAfterFinished;
  if (ttlSeconds === undefined || job.metadata.deletionTimestamp !== undefined) return undefined;
  const endedMs = parseTime(finishedCondition(job)?.lastTransitionTime);
  return Number.isNaN(endedMs) ? undefined : endedMs + ttlSeconds * 1000;
}

export function createTtlAfterFinishedController(deps: ControllerDeps): Controller {
  const { clock } = deps.platform;
  const jobClient = deps.clientFor(NAME).resource(Jobs);
  const jobs = deps.informers.informer(Jobs);
  const latency = deps.platform.metrics.histogram({
    name: 'ttl_after_finished_controller_job_deletion_duration_seconds',
    help: 'Time from when a job became eligible for deletion to its deletion.',
    buckets: Array.from({ length: 14 }, (_, i) => 0.1 * 2 ** i),
  });
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'ttl_jobs_to_delete',
    workers: WORKERS,
    informers: informerList(jobs),
    sync: processJob,
  });

  async function processJob(key: string, signal: AbortSignal): Promise<void> {
    const cached = jobs.get(parseKey(key));
    if (cached === undefined || isHeld(key, cached)) return;
    try {
      // Read from the server before the deletion: the time to live may have just been changed.
      const job = await jobClient.get(parseKey(key), { signal });
      if (isHeld(key, job)) return;
      const { uid, resourceVersion } = job.metadata;
      await jobClient.delete(parseKey(key), {
        propagationPolicy: 'Foreground',
        preconditions: { uid, resourceVersion },
        signal,
      });
      latency.observe((clock.nowMs() - (expiresAtMs(job) ?? clock.nowMs())) / 1000);
    } catch (error) {
      if (!isReason(error, 'NotFound')) throw error;
    }
  }

  function isHeld(key: string, job: Job): boolean {
    const dueMs = expiresAtMs(job);
    if (dueMs === undefined) return true;
    const waitMs = dueMs - clock.nowMs();
    if (waitMs > 0) loop.queue.addAfter(key, waitMs);
    return waitMs > 0;
  }

  const enqueue = (job: Job): void => {
    if (expiresAtMs(job) !== undefined) loop.queue.add(keyOfObject(job));
  };
  jobs.addHandler({ onAdd: enqueue, onUpdate: (_, job) => enqueue(job) });
  return loop;
}
