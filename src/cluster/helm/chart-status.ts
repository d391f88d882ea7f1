/**
 * The status of a HelmChart with k3s's conditions, written only when it changes. Differs: those that are False have a reason
 * and a message, which k3s leaves out.
 */
import type { Stored } from '../../api/object.ts';
import { deepEqual } from '../../base/equal.ts';
import type { Client } from '../../client/client.ts';
import { HelmCharts, type HelmChart, type HelmChartCondition } from './helm-kinds.ts';

type ChartStatus = NonNullable<HelmChart['status']>;

const NOT_FAILED: HelmChartCondition = {
  type: 'Failed',
  status: 'False',
  reason: 'JobNotFailed',
  message: 'the job has not failed',
};
const NO_JOB: HelmChartCondition = {
  type: 'JobCreated',
  status: 'False',
  reason: 'NoJob',
  message: 'no job was created, see the condition Failed',
};

export function runningStatus({ namespace }: { readonly namespace: string }, job: string): ChartStatus {
  return { jobName: job, conditions: [jobCreated(namespace, job), NOT_FAILED] };
}

export function jobFailedStatus({ namespace }: { readonly namespace: string }, job: string, why: string): ChartStatus {
  const text = 'Job has reached configured number of retries without succeeding';
  const message = why === '' ? text : `${text}: ${why}`;
  return {
    jobName: job,
    conditions: [jobCreated(namespace, job), { type: 'Failed', status: 'True', reason: 'Job failed', message }],
  };
}

/** The status of a chart for which no job runs, with the reason. */
export function refusedStatus(reason: string, message: string): ChartStatus {
  return { conditions: [NO_JOB, { type: 'Failed', status: 'True', reason, message }] };
}

function jobCreated(namespace: string, job: string): HelmChartCondition {
  const message = `Applying HelmChart using Job ${namespace}/${job}`;
  return { type: 'JobCreated', status: 'True', reason: 'Job created', message };
}

/** Resolves to whether the status was written. */
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
