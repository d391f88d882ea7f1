/**
 * Advances the job of an action on a chart by one step: creates it, recreates it when its input has changed, and runs
 * it in this process if no image is configured. Everything is read from the API server at each step.
 */
import type { Job, JobStatus } from '../../api/gen/batch-v1.ts';
import { ConfigMaps, Jobs, Secrets } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { ignoreNotFound, isReason } from '../../api/status-error.ts';
import { formatTime } from '../../api/time.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import type { Clock } from '../../platform/clock.ts';
import { ensureAccount, removeBinding } from './chart-account.ts';
import { HASH_ANNOTATION, jobName } from './chart-names.ts';
import { ChartProblem } from './chart-source.ts';
import type { HelmChart } from './helm-kinds.ts';
import { runTimeoutMs, type HelmOutcome, type HelmRunner } from './helm-runner.ts';
import { imageJob, imageJobObjects } from './image-job.ts';
import { completeStatus, failedStatus, isOver, ownJob, retryDelayMs, startedStatus } from './own-job.ts';
import type { ReleaseRequest } from './release-request.ts';

export interface ChartJobsDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly runner: HelmRunner;
  /** A token of a service account. */
  token(account: { readonly namespace: string; readonly chart: string }, seconds: number): Promise<string>;
}

export interface ChartJobsConfig {
  readonly httpsPort: number;
  readonly proxies: Readonly<Record<string, string>>;
}

/** One action on a chart. */
export interface ChartAction {
  readonly chart: Stored<HelmChart>;
  readonly request: ReleaseRequest;
  readonly action: 'install' | 'delete';
  /** The image of the job's pod; '': this process runs helm. */
  readonly image: string;
  readonly hash: string;
}

/**
 * The progress. `waiting`: an event of the job continues it, and at the latest `afterMs` later another step is
 * needed.
 */
export type JobProgress =
  | { readonly kind: 'complete' }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'waiting'; readonly isNew: boolean; readonly afterMs?: number };

const MIN_TOKEN_SECONDS = 3600;
const WAITING: JobProgress = { kind: 'waiting', isNew: false };

export class ChartJobs {
  readonly #deps: ChartJobsDeps;
  readonly #config: ChartJobsConfig;
  /** The time of the next attempt, by the job's uid. */
  readonly #due = new Map<string, number>();

  constructor(deps: ChartJobsDeps, config: ChartJobsConfig) {
    this.#deps = deps;
    this.#config = config;
  }

  async advance(action: ChartAction, signal: AbortSignal): Promise<JobProgress> {
    const { chart, hash } = action;
    const { namespace } = chart.metadata;
    const key = { namespace, name: jobName(action.action, chart.metadata.name) };
    const job = await this.#deps.client.resource(Jobs).get(key, { signal }).catch(ignoreNotFound);
    if (job?.metadata.deletionTimestamp !== undefined) return WAITING;
    if (job !== undefined && job.metadata.annotations?.[HASH_ANNOTATION] !== hash) {
      await this.remove(job, signal);
      return { kind: 'waiting', isNew: false, afterMs: 0 };
    }
    if (job === undefined) {
      await this.#create(action, signal);
      return { kind: 'waiting', isNew: true, afterMs: 0 };
    }
    if (isOver(job, 'Complete')) return { kind: 'complete' };
    if (isOver(job, 'Failed')) return { kind: 'failed', message: failureOf(job) };
    return action.image === '' ? await this.#attempt(action, job, signal) : WAITING;
  }

  /** The pods end before the job is deleted, since two helm processes would conflict on the release. */
  async remove(job: Stored<Job>, signal: AbortSignal): Promise<void> {
    const { namespace, name, uid } = job.metadata;
    this.#due.delete(uid);
    const propagationPolicy = job.spec?.managedBy === undefined ? 'Foreground' : 'Background';
    await this.#deps.client
      .resource(Jobs)
      .delete({ namespace, name }, { propagationPolicy, preconditions: { uid }, signal })
      .catch(ignoreNotFound);
  }

  async #create(action: ChartAction, signal: AbortSignal): Promise<void> {
    try {
      await this.#make(action, signal);
    } catch (error) {
      throw isReason(error, 'Invalid') ? new ChartProblem(error.message) : error;
    }
  }

  async #make(action: ChartAction, signal: AbortSignal): Promise<void> {
    const { chart, request, image, hash } = action;
    const { client } = this.#deps;
    if (image === '') {
      await client.resource(Jobs).create(ownJob(chart, action.action, hash), { signal });
      return;
    }
    if (action.action === 'install') {
      const [secret, configMap] = imageJobObjects(chart, request);
      await replace(client, Secrets, secret, signal);
      await replace(client, ConfigMaps, configMap, signal);
    }
    await ensureAccount(client, chart.metadata, signal);
    const { httpsPort, proxies } = this.#config;
    const config = { image, httpsPort, proxies, hash, action: action.action };
    await client.resource(Jobs).create(imageJob(chart, request, config), { signal });
  }

  async #attempt(action: ChartAction, job: Stored<Job>, signal: AbortSignal): Promise<JobProgress> {
    const { clock, recorder } = this.#deps;
    const { chart } = action;
    const { uid } = job.metadata;
    const waitMs = (this.#due.get(uid) ?? 0) - clock.monotonicMs();
    if (waitMs > 0) return { kind: 'waiting', isNew: false, afterMs: waitMs };
    const started = await this.#write(job, startedStatus(job, this.#now()), signal);
    const outcome = await this.#run(action, signal);
    if (outcome.ok) {
      this.#due.delete(uid);
      await this.#write(started, completeStatus(started, this.#now()), signal);
      return { kind: 'complete' };
    }
    recorder.event(chart, 'Warning', 'HelmFailed', outcome.message);
    const failed = await this.#write(started, failedStatus(started, outcome.message, this.#now()), signal);
    if (isOver(failed, 'Failed')) {
      this.#due.delete(uid);
      return { kind: 'failed', message: outcome.message };
    }
    const afterMs = retryDelayMs(failed);
    this.#due.set(uid, clock.monotonicMs() + afterMs);
    return { kind: 'waiting', isNew: false, afterMs };
  }

  /** The chart's account has its rights only while helm runs. */
  async #run({ chart, request, action, hash }: ChartAction, signal: AbortSignal): Promise<HelmOutcome> {
    const { client, runner, token } = this.#deps;
    const { name, namespace } = chart.metadata;
    await ensureAccount(client, chart.metadata, signal);
    try {
      const seconds = Math.max(MIN_TOKEN_SECONDS, Math.ceil(runTimeoutMs(request) / 1000));
      const bearer = await token({ namespace, chart: name }, seconds);
      return action === 'install'
        ? await runner.release(request, bearer, hash, signal)
        : await runner.uninstall(request, bearer, signal);
    } finally {
      // Also when a stop has interrupted it.
      await removeBinding(client, chart.metadata);
    }
  }

  #now(): string {
    return formatTime(this.#deps.clock.nowMs());
  }

  /** Patches the status, so that it does not conflict with other writers of the job. */
  #write({ metadata }: Stored<Job>, status: JobStatus, signal: AbortSignal): Promise<Stored<Job>> {
    const { namespace, name, uid } = metadata;
    const patch = { type: 'merge', patch: { metadata: { uid }, status } } as const;
    return this.#deps.client.resource(Jobs).patch({ namespace, name }, patch, { subresource: 'status', signal });
  }
}

function failureOf(job: Job): string {
  const failed = job.status?.conditions?.find(({ type }) => type === 'Failed');
  return job.spec?.managedBy === undefined ? '' : (failed?.message ?? '');
}

/** The name belongs to the chart: an existing object is an earlier version. */
async function replace<T extends KubernetesObject>(
  client: Client,
  info: ResourceInfo<T>,
  object: T,
  signal: AbortSignal,
): Promise<void> {
  try {
    await client.resource(info).create(object, { signal });
  } catch (error) {
    if (!isReason(error, 'AlreadyExists')) throw error;
    await client.resource(info).update(object, { signal });
  }
}
