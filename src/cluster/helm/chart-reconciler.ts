/** Reconciles one HelmChart: claims it, runs its job when something has changed, writes its status. */
import { ConfigMaps, Secrets } from '../../api/gen/resources.ts';
import type { Stored } from '../../api/object.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { boundCharts, removeBinding } from './chart-account.ts';
import type { ChartControllerConfig, ChartDeps } from './chart-deps.ts';
import { readChartFile } from './chart-files.ts';
import { ChartJobs, type ChartAction } from './chart-jobs.ts';
import {
  FINALIZER,
  jobName,
  MANAGED_BY_ANNOTATION,
  MANAGER,
  MAX_NAME_LENGTH,
  UNMANAGED_ANNOTATION,
} from './chart-names.ts';
import { ChartRemoval } from './chart-removal.ts';
import { ChartProblem, sourceText } from './chart-source.ts';
import { jobFailedStatus, refusedStatus, runningStatus, writeStatus } from './chart-status.ts';
import { HelmChartConfigs, HelmCharts, type HelmChart } from './helm-kinds.ts';
import { readRelease, requestHash, type ReferencedObjects } from './release-request.ts';

const UNSUPPORTED = { reason: 'Unsupported version', message: 'Only Helm v3 charts are supported' };

export class ChartReconciler {
  readonly #deps: ChartDeps;
  readonly #config: ChartControllerConfig;
  readonly #jobs: ChartJobs;
  readonly #removal: ChartRemoval;

  constructor(deps: ChartDeps, config: ChartControllerConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#jobs = new ChartJobs({ ...deps, clock: deps.platform.clock }, config);
    this.#removal = new ChartRemoval(deps, this.#jobs);
  }

  /** Removes the rights of interrupted runs, before one begins here. */
  async dropRights(signal: AbortSignal): Promise<void> {
    const { client } = this.#deps;
    for (const { namespace, name } of await boundCharts(client, signal)) {
      const chart = await client.resource(HelmCharts).get({ namespace, name }, { signal }).catch(ignoreNotFound);
      const needsThem = chart !== undefined && (isClaimedByAnother(chart) || this.#image(chart) !== '');
      if (!needsThem) await removeBinding(client, { namespace, name }, signal);
    }
  }

  async sync(key: string, signal: AbortSignal): Promise<void> {
    const [namespace = '', name = ''] = key.split('/');
    const { client } = this.#deps;
    const chart = await client.resource(HelmCharts).get({ namespace, name }, { signal }).catch(ignoreNotFound);
    if (chart === undefined || !isOurs(chart)) return;
    try {
      if (chart.metadata.deletionTimestamp !== undefined)
        return await this.#removal.remove(chart, this.#image(chart), signal);
      if (isEmpty(chart)) return;
      if (!isClaimed(chart)) return await this.#claim(chart, signal);
      await this.#install(chart, signal);
    } catch (error) {
      if (!(error instanceof ChartProblem)) throw error;
      await this.#refuse(chart, error, signal);
    }
  }

  async #install(chart: Stored<HelmChart>, signal: AbortSignal): Promise<void> {
    const { client, recorder, later } = this.#deps;
    const { namespace, name } = chart.metadata;
    const action = await this.#installAction(chart, signal);
    const progress = await this.#jobs.advance(action, signal);
    const job = jobName('install', name);
    const status =
      progress.kind === 'failed'
        ? jobFailedStatus(chart.metadata, job, progress.message)
        : runningStatus(chart.metadata, job);
    const wasWritten = await writeStatus(client, chart, status, signal);
    if (progress.kind === 'failed' && wasWritten)
      recorder.event(chart, 'Warning', 'JobFailed', 'Job has reached configured number of retries without succeeding');
    if (progress.kind !== 'waiting') return;
    if (progress.isNew) {
      const message = `Applying HelmChart from ${sourceText(chart.spec ?? {})} using Job ${namespace}/${job}`;
      recorder.event(chart, 'Normal', 'ApplyJob', message);
    }
    if (progress.afterMs !== undefined) later(`${namespace}/${name}`, progress.afterMs);
  }

  async #installAction(chart: Stored<HelmChart>, signal: AbortSignal): Promise<ChartAction> {
    const { client, platform } = this.#deps;
    const image = this.#checkedImage(chart);
    const { namespace, name } = chart.metadata;
    if (name.length > MAX_NAME_LENGTH)
      throw new ChartProblem(`metadata.name: must be no more than ${MAX_NAME_LENGTH} characters`);
    const config = await client.resource(HelmChartConfigs).get({ namespace, name }, { signal }).catch(ignoreNotFound);
    const request = await readRelease(chart, config, this.#referenced(namespace, signal), this.#config.apiHost);
    const hash = requestHash(request, image, (text) => platform.crypto.sha256Hex(text));
    return { chart, request, action: 'install', image, hash };
  }

  /** The image of the job's pod. @throws ChartProblem for a request that cannot be fulfilled */
  #checkedImage(chart: HelmChart): string {
    const { helmVersion = '', podSecurityContext, securityContext } = chart.spec ?? {};
    if (helmVersion !== '' && helmVersion !== 'v3') throw new ChartProblem(UNSUPPORTED.message, UNSUPPORTED.reason);
    const image = this.#image(chart);
    const context = podSecurityContext === undefined ? 'securityContext' : 'podSecurityContext';
    if (image === '' && (podSecurityContext ?? securityContext) !== undefined)
      throw new ChartProblem(
        `spec.${context} is for the pod of a job: it needs an image (spec.jobImage, or --helm-job-image of the server)`,
        'Unsupported field',
      );
    return image;
  }

  #image({ spec: { jobImage = '' } = {} }: HelmChart): string {
    return jobImage.trim() || this.#config.jobImage;
  }

  async #refuse(chart: Stored<HelmChart>, { reason, message }: ChartProblem, signal: AbortSignal): Promise<void> {
    const { client, recorder } = this.#deps;
    const text = reason === 'Job create failed' ? `Failed to generate Job: ${message}` : message;
    if (!(await writeStatus(client, chart, refusedStatus(reason, text), signal))) return;
    const event = reason === UNSUPPORTED.reason ? 'UnsupportedVersion' : 'JobCreateFailed';
    recorder.event(chart, 'Warning', event, text);
  }

  /**
   * Records that this controller manages the chart, and adds the finalizer by which it is uninstalled before its
   * deletion.
   */
  async #claim(chart: Stored<HelmChart>, signal: AbortSignal): Promise<void> {
    const { namespace, name, resourceVersion, finalizers = [] } = chart.metadata;
    const annotations = { [MANAGED_BY_ANNOTATION]: MANAGER };
    const all = finalizers.includes(FINALIZER) ? finalizers : [...finalizers, FINALIZER];
    const patch = { metadata: { resourceVersion, annotations, finalizers: all } };
    await this.#deps.client.resource(HelmCharts).patch({ namespace, name }, { type: 'merge', patch }, { signal });
    this.#deps.later(`${namespace}/${name}`, 0);
  }

  #referenced(namespace: string, signal: AbortSignal): ReferencedObjects {
    const { client, platform } = this.#deps;
    const decoded = (data: Readonly<Record<string, string>> = {}): Record<string, string> =>
      Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]));
    return {
      async secret(name) {
        const stored = await client.resource(Secrets).get({ namespace, name }, { signal }).catch(ignoreNotFound);
        return stored && decoded(stored.data);
      },
      async configMap(name) {
        const stored = await client.resource(ConfigMaps).get({ namespace, name }, { signal }).catch(ignoreNotFound);
        return stored && { ...stored.data };
      },
      chartFile: (name) => readChartFile(platform.files, this.#config.chartsFolder, name),
    };
  }
}

/** Charts claimed by another controller, or marked as unmanaged, are left alone. */
function isOurs({ metadata: { annotations = {} } }: HelmChart): boolean {
  return !Object.hasOwn(annotations, UNMANAGED_ANNOTATION) && !isClaimedByAnother({ metadata: { annotations } });
}

function isClaimedByAnother({ metadata: { annotations = {} } }: Pick<HelmChart, 'metadata'>): boolean {
  return (annotations[MANAGED_BY_ANNOTATION] ?? MANAGER) !== MANAGER;
}

function isEmpty({ spec: { chart = '', chartContent = '' } = {} }: HelmChart): boolean {
  return chart === '' && chartContent === '';
}

function isClaimed({ metadata: { annotations = {}, finalizers = [] } }: HelmChart): boolean {
  return annotations[MANAGED_BY_ANNOTATION] === MANAGER && finalizers.includes(FINALIZER);
}
