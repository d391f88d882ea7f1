/** The status of a HelmChart: k3s's conditions, written where they differ. */
import type { Stored } from '../../api/object.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Client } from '../../client/client.ts';
import { HelmCharts, type HelmChart, type HelmChartCondition } from './helm-kinds.ts';

type ChartStatus = NonNullable<HelmChart['status']>;

export function runningStatus({ namespace }: { readonly namespace: string }, job: string): ChartStatus {
  return { jobName: job, conditions: [jobCreated(namespace, job), { type: 'Failed', status: 'False' }] };
}

export function jobFailedStatus({ namespace }: { readonly namespace: string }, job: string, why: string): ChartStatus {
  const text = 'Job has reached configured number of retries without succeeding';
  const message = why === '' ? text : `${text}: ${why}`;
  return {
    jobName: job,
    conditions: [jobCreated(namespace, job), { type: 'Failed', status: 'True', reason: 'Job failed', message }],
  };
}

/** There is no job, and why. */
export function refusedStatus(reason: string, message: string): ChartStatus {
  return {
    conditions: [
      { type: 'JobCreated', status: 'False' },
      { type: 'Failed', status: 'True', reason, message },
    ],
  };
}

function jobCreated(namespace: string, job: string): HelmChartCondition {
  const message = `Applying HelmChart using Job ${namespace}/${job}`;
  return { type: 'JobCreated', status: 'True', reason: 'Job created', message };
}

/** Resolves to whether it was another. */
export async function writeStatus(
  client: Client,
  chart: Stored<HelmChart>,
  status: ChartStatus,
  signal: AbortSignal,
): Promise<boolean> {
  const next = { ...chart.status, ...status };
  if (deepEqual(chart.status, next)) return false;
  const { name, namespace } = chart.metadata;
  await client
    .resource(HelmCharts)
    .patch({ name, namespace }, { type: 'merge', patch: { status: next } }, { subresource: 'status', signal });
  return true;
}
