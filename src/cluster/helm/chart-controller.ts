/**
 * Keeps the releases of HelmCharts: a job installs or upgrades where anything of the chart, its HelmChartConfig or its Secrets
 * has changed, another uninstalls when the chart is deleted. Upstream: k3s's helm-controller; differs: without an image for
 * its jobs, helm runs here (helm-runner.ts).
 */
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Secret } from '../../api/gen/core-v1.ts';
import { ConfigMaps, Jobs, Secrets } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Client } from '../../client/client.ts';
import type { EventRecorder } from '../../client/event-recorder.ts';
import { onEveryChange, type InformerFactory } from '../../client/informer.ts';
import {
  createKeyedLoop,
  informerList,
  isNamespaceTerminating,
  type Controller,
} from '../../controllers/controller.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { logFailedRound } from '../../platform/unexpected.ts';
import { boundCharts, removeAccount, removeBinding } from './chart-account.ts';
import { readChartFile } from './chart-files.ts';
import { ChartJobs, type ChartAction, type ChartJobsConfig, type ChartJobsDeps } from './chart-jobs.ts';
import {
  CHART_LABEL,
  contentName,
  FINALIZER,
  jobName,
  MANAGED_BY_ANNOTATION,
  MANAGER,
  MAX_NAME_LENGTH,
  UNMANAGED_ANNOTATION,
  valuesName,
} from './chart-names.ts';
import { ChartProblem, sourceText } from './chart-source.ts';
import { jobFailedStatus, refusedStatus, runningStatus, writeStatus } from './chart-status.ts';
import { HelmChartConfigs, HelmCharts, type HelmChart } from './helm-kinds.ts';
import { readRelease, removalRequest, requestHash, type Referenced } from './release-request.ts';

export interface ChartControllerDeps extends Pick<ChartJobsDeps, 'runner' | 'token'> {
  readonly client: Client;
  readonly informers: InformerFactory;
  readonly platform: Pick<Platform, 'clock' | 'random' | 'crypto' | 'log' | 'metrics' | 'files'>;
  readonly recorder: EventRecorder;
  /** Calls back at each change of a Secret. */
  onSecretChange(listener: (secret: Stored<Secret>) => void): void;
}

export interface ChartControllerConfig extends ChartJobsConfig {
  /** The image of jobs whose chart names none; '': this process runs helm. */
  readonly jobImage: string;
  /** Host and port of the API server, for charts that name it. */
  readonly apiHost: string;
  /** Files of charts. */
  readonly chartsFolder: string;
}

const WORKERS = 4;
/** So often files of charts are read for changes, and what was refused is tried again. */
const PERIOD_MS = 60_000;
/** How long what fails before charts are worked on waits for its next try. */
const RETRY_MS = 5_000;
/** So often it is asked whether a job that was deleted has gone. */
const GONE_PERIOD_MS = 500;
const UNSUPPORTED = { reason: 'Unsupported version', message: 'Only Helm v3 charts are supported' };

export function createChartController(deps: ChartControllerDeps, config: ChartControllerConfig): Controller {
  const { client, informers, platform, recorder } = deps;
  const charts = informers.informer(HelmCharts);
  const configs = informers.informer(HelmChartConfigs);
  const jobs = informers.informer(Jobs, { labelSelector: CHART_LABEL });
  const followed = informerList(charts, configs, jobs);
  const loopDeps = { client, clientFor: () => client, informers, platform, recorderFor: () => recorder, config: {} };
  const loop = createKeyedLoop(loopDeps, {
    name: 'helm',
    workers: WORKERS,
    informers: followed,
    maxRetryMs: PERIOD_MS,
    sync: (key, signal) => reconciler.sync(key, signal),
  });
  const later = (key: string, afterMs: number): void => loop.queue.addAfter(key, afterMs);
  const reconciler = new ChartReconciler({ ...deps, later }, config);
  const add = ({ metadata: { namespace, name } }: KubernetesObject): void => loop.queue.add(`${namespace}/${name}`);
  charts.addHandler(onEveryChange(add));
  configs.addHandler(onEveryChange(add));
  jobs.addHandler(onEveryChange(addChartOf));
  function addChartOf({ metadata }: Stored<Job>): void {
    loop.queue.add(`${metadata.namespace}/${metadata.labels?.[CHART_LABEL]}`);
  }
  deps.onSecretChange(({ metadata: { namespace, name } }) => {
    for (const object of [...charts.list(namespace), ...configs.list(namespace)])
      if (object.spec?.valuesSecrets?.some((each) => each.name === name && each.ignoreUpdates !== true)) add(object);
  });
  return {
    name: loop.name,
    async start(signal) {
      await untilDone(signal, () => reconciler.dropRights(signal));
      await Promise.all([loop.start(signal), again(signal)]);
    },
  };
  async function untilDone(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted) return;
        logFailedRound(platform.log, 'rights of charts cannot be looked up', { reason: errorMessage(error) });
        await sleepUnlessAborted(platform.clock, RETRY_MS, signal);
      }
    }
  }
  async function again(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleepUnlessAborted(platform.clock, PERIOD_MS, signal);
      if (signal.aborted) return;
      for (const chart of charts.list()) add(chart);
    }
  }
}

type ReconcilerDeps = ChartControllerDeps & { later(key: string, afterMs: number): void };

class ChartReconciler {
  readonly #deps: ReconcilerDeps;
  readonly #config: ChartControllerConfig;
  readonly #jobs: ChartJobs;

  constructor(deps: ReconcilerDeps, config: ChartControllerConfig) {
    this.#deps = deps;
    this.#config = config;
    this.#jobs = new ChartJobs({ ...deps, clock: deps.platform.clock }, config);
  }

  /** Takes the rights of runs that another process did not end, before one begins here. */
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
      if (chart.metadata.deletionTimestamp !== undefined) return await this.#remove(chart, signal);
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
    const isNews = await writeStatus(client, chart, status, signal);
    if (progress.kind === 'failed' && isNews)
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

  /** The image of the job's pod. @throws ChartProblem for what cannot be done as the chart asks */
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

  async #remove(chart: Stored<HelmChart>, signal: AbortSignal): Promise<void> {
    const { client, recorder, later } = this.#deps;
    const { finalizers = [], namespace, name } = chart.metadata;
    if (!finalizers.includes(FINALIZER)) return;
    const { helmVersion = '' } = chart.spec ?? {};
    const wasRun = (helmVersion === '' || helmVersion === 'v3') && name.length <= MAX_NAME_LENGTH;
    const job = jobName('delete', name);
    try {
      if (wasRun && !(await this.#uninstalled(chart, signal))) return;
    } catch (error) {
      // What was released into a namespace that ends goes with it.
      if (!isNamespaceTerminating(error)) throw error;
    }
    if (wasRun)
      recorder.event(
        chart,
        'Normal',
        'RemoveJob',
        `Uninstalled HelmChart using Job ${namespace}/${job}, removing resources`,
      );
    await this.#cleanUp(chart, signal);
    const patch = {
      metadata: {
        finalizers: finalizers.filter((each) => each !== FINALIZER),
        resourceVersion: chart.metadata.resourceVersion,
      },
    };
    await client.resource(HelmCharts).patch({ namespace, name }, { type: 'merge', patch }, { signal });
    later(`${namespace}/${name}`, 0);
  }

  /** Whether the job that uninstalls is through; what is under way of an install ends before. */
  async #uninstalled(chart: Stored<HelmChart>, signal: AbortSignal): Promise<boolean> {
    const { client, recorder, later } = this.#deps;
    const { namespace, name } = chart.metadata;
    const key = { namespace, name: jobName('install', name) };
    const install = await client.resource(Jobs).get(key, { signal }).catch(ignoreNotFound);
    if (install !== undefined) {
      if (install.metadata.deletionTimestamp === undefined) await this.#jobs.remove(install, signal);
      later(`${namespace}/${name}`, GONE_PERIOD_MS);
      return false;
    }
    const image = this.#image(chart);
    const request = removalRequest(chart);
    const hash = requestHash(request, image, (text) => this.#deps.platform.crypto.sha256Hex(text));
    const progress = await this.#jobs.advance({ chart, request, action: 'delete', image, hash }, signal);
    if (progress.kind === 'complete') return true;
    const job = jobName('delete', name);
    if (progress.kind === 'failed') {
      if (await writeStatus(client, chart, jobFailedStatus(chart.metadata, job, progress.message), signal))
        recorder.event(chart, 'Warning', 'JobFailed', `Job ${namespace}/${job} could not uninstall the chart`);
      return false;
    }
    await writeStatus(client, chart, runningStatus(chart.metadata, job), signal);
    if (progress.isNew)
      recorder.event(chart, 'Normal', 'RemoveJob', `Uninstalling HelmChart using Job ${namespace}/${job}`);
    if (progress.afterMs !== undefined) later(`${namespace}/${name}`, progress.afterMs);
    return false;
  }

  async #cleanUp(chart: Stored<HelmChart>, signal: AbortSignal): Promise<void> {
    const { client } = this.#deps;
    const { namespace, name } = chart.metadata;
    const drop = async (info: ResourceInfo<KubernetesObject>, object: string): Promise<void> => {
      const found = await client.resource(info).get({ namespace, name: object }, { signal }).catch(ignoreNotFound);
      if (found?.metadata.labels?.[CHART_LABEL] !== name) return;
      const options = { propagationPolicy: 'Background', preconditions: { uid: found.metadata.uid }, signal } as const;
      await client.resource(info).delete({ namespace, name: object }, options).catch(ignoreNotFound);
    };
    await removeBinding(client, chart.metadata, signal);
    await removeAccount(client, chart.metadata, signal);
    await drop(Secrets as ResourceInfo<KubernetesObject>, valuesName(name));
    await drop(ConfigMaps as ResourceInfo<KubernetesObject>, contentName(name));
    for (const action of ['install', 'delete'] as const)
      await drop(Jobs as ResourceInfo<KubernetesObject>, jobName(action, name));
  }

  /** Says that this controller runs it, and that it is uninstalled before it goes. */
  async #claim(chart: Stored<HelmChart>, signal: AbortSignal): Promise<void> {
    const { namespace, name, resourceVersion, finalizers = [] } = chart.metadata;
    const annotations = { [MANAGED_BY_ANNOTATION]: MANAGER };
    const all = finalizers.includes(FINALIZER) ? finalizers : [...finalizers, FINALIZER];
    const patch = { metadata: { resourceVersion, annotations, finalizers: all } };
    await this.#deps.client.resource(HelmCharts).patch({ namespace, name }, { type: 'merge', patch }, { signal });
    this.#deps.later(`${namespace}/${name}`, 0);
  }

  #referenced(namespace: string, signal: AbortSignal): Referenced {
    const { client, platform } = this.#deps;
    const decoded = (data: Readonly<Record<string, string>> = {}): Record<string, string> =>
      Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]));
    return {
      async secret(name) {
        const found = await client.resource(Secrets).get({ namespace, name }, { signal }).catch(ignoreNotFound);
        return found && decoded(found.data);
      },
      async configMap(name) {
        const found = await client.resource(ConfigMaps).get({ namespace, name }, { signal }).catch(ignoreNotFound);
        return found && { ...found.data };
      },
      chartFile: (name) => readChartFile(platform.files, this.#config.chartsFolder, name),
    };
  }
}

/** Charts that another controller has claimed, or that are to be left alone, are not ours. */
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
