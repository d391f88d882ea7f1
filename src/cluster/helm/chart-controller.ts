/**
 * Keeps the releases of HelmCharts: a job installs or upgrades when the chart, its HelmChartConfig or its Secrets
 * have changed; another uninstalls when the chart is deleted. Upstream: k3s's helm-controller; differs: without an
 * image for its jobs, helm runs here (helm-runner.ts). The work on one chart is in chart-reconciler.ts.
 */
import type { Job } from '../../api/gen/batch-v1.ts';
import { Jobs } from '../../api/gen/resources.ts';
import type { KubernetesObject, Stored } from '../../api/object.ts';
import { errorMessage } from '../../base/errors.ts';
import { onEveryChange } from '../../client/informer.ts';
import { createKeyedLoop, informerList, type Controller } from '../../controllers/controller.ts';
import { sleepUnlessAborted } from '../../platform/clock.ts';
import { logFailedRound } from '../../platform/unexpected.ts';
import type { ChartControllerConfig, ChartControllerDeps } from './chart-deps.ts';
import { CHART_LABEL } from './chart-names.ts';
import { ChartReconciler } from './chart-reconciler.ts';
import { HelmChartConfigs, HelmCharts } from './helm-kinds.ts';

const WORKERS = 4;
/** The period in which chart files are read for changes and refused charts are retried. */
const PERIOD_MS = 60_000;
/** The delay before a failed preparation is retried. */
const RETRY_MS = 5_000;

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
