/** Names of the objects of a HelmChart, as k3s's. */
import type { OwnerReference } from '../../api/gen/meta-v1.ts';
import type { Stored } from '../../api/object.ts';
import { HELM_GROUP, type HelmChart } from './helm-kinds.ts';

/** Label with the chart's name, on jobs and the objects that their pods read. */
export const CHART_LABEL = 'helmcharts.helm.cattle.io/chart';
export const HASH_ANNOTATION = 'helmcharts.helm.cattle.io/configHash';
export const MANAGED_BY_ANNOTATION = 'helmcharts.cattle.io/managed-by';
export const UNMANAGED_ANNOTATION = 'helmcharts.helm.cattle.io/unmanaged';
/** k3s's name of its controller, so that charts it has claimed are taken over. */
export const MANAGER = 'helm-controller';
export const FINALIZER = 'wrangler.cattle.io/on-helm-chart-remove';
/** `managedBy` of jobs that this process runs: the job controller leaves them alone. */
export const JOB_MANAGER = 'keelson.dev/helm';

export const accountName = (chart: string): string => `helm-${chart}`;
export const valuesName = (chart: string): string => `chart-values-${chart}`;
export const contentName = (chart: string): string => `chart-content-${chart}`;
export const bindingName = (namespace: string, chart: string): string => `helm-${namespace}-${chart}`;
export const jobName = (action: 'install' | 'delete', chart: string): string => `helm-${action}-${chart}`;

/** Job names are used as label values. */
export const MAX_NAME_LENGTH = 63 - jobName('install', '').length;

export function ownerOf({ metadata }: Stored<HelmChart>): OwnerReference {
  return {
    apiVersion: `${HELM_GROUP}/v1`,
    kind: 'HelmChart',
    name: metadata.name,
    uid: metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}
