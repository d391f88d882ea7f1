/** Uninstalls a HelmChart that is being deleted, and deletes its objects. */
import { ConfigMaps, Jobs, Secrets } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { ignoreNotFound } from '../../api/status-error.ts';
import { isNamespaceTerminating } from '../../controllers/controller.ts';
import { removeAccount, removeBinding } from './chart-account.ts';
import type { ChartDeps } from './chart-deps.ts';
import type { ChartJobs } from './chart-jobs.ts';
import { CHART_LABEL, contentName, FINALIZER, jobName, MAX_NAME_LENGTH, valuesName } from './chart-names.ts';
import { jobFailedStatus, runningStatus, writeStatus } from './chart-status.ts';
import { HelmCharts, type HelmChart } from './helm-kinds.ts';
import { removalRequest, requestHash } from './release-request.ts';

/** The period in which the deletion of a job is checked. */
const GONE_PERIOD_MS = 500;

export class ChartRemoval {
  readonly #deps: ChartDeps;
  readonly #jobs: ChartJobs;

  constructor(deps: ChartDeps, jobs: ChartJobs) {
    this.#deps = deps;
    this.#jobs = jobs;
  }

  /** `image`: that of the job's pod; '': helm runs here. */
  async remove(chart: Stored<HelmChart>, image: string, signal: AbortSignal): Promise<void> {
    const { client, recorder, later } = this.#deps;
    const { finalizers = [], namespace, name } = chart.metadata;
    if (!finalizers.includes(FINALIZER)) return;
    const { helmVersion = '' } = chart.spec ?? {};
    const wasRun = (helmVersion === '' || helmVersion === 'v3') && name.length <= MAX_NAME_LENGTH;
    const job = jobName('delete', name);
    try {
      if (wasRun && !(await this.#uninstalled(chart, image, signal))) return;
    } catch (error) {
      // In a terminating namespace the release's objects are deleted with it.
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

  /** Whether the uninstall job has finished; a running install ends first. */
  async #uninstalled(chart: Stored<HelmChart>, image: string, signal: AbortSignal): Promise<boolean> {
    const { client, recorder, later } = this.#deps;
    const { namespace, name } = chart.metadata;
    const key = { namespace, name: jobName('install', name) };
    const install = await client.resource(Jobs).get(key, { signal }).catch(ignoreNotFound);
    if (install !== undefined) {
      if (install.metadata.deletionTimestamp === undefined) await this.#jobs.remove(install, signal);
      later(`${namespace}/${name}`, GONE_PERIOD_MS);
      return false;
    }
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
}
