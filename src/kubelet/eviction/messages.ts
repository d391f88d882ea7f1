/** Messages of evicted pods, in upstream's words. Pure. */
import { podContainers } from '../../api/pod-containers.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { quantityFromValue, quantityValue } from '../../api/quantity.ts';
import { firstByName } from '../../base/first-by.ts';
import type { PodStats } from '../stats/summary-types.ts';
import { containerDiskUsage } from './pod-usage.ts';
import { SIGNALS, unitsOf, type Observations, type StarvedResource, type Threshold } from './thresholds.ts';

/** Reason of the pod's status and of the event. */
export const EVICTED = 'Evicted';

const amount = (value: number): string => quantityFromValue(Math.floor(value), 'BinarySI');

function consumersText(pod: Pod, stats: PodStats | undefined, resource: StarvedResource): string {
  if (stats === undefined || (resource !== 'memory' && resource !== 'ephemeral-storage')) return '';
  const containers = firstByName(podContainers(pod.spec));
  return stats.containers
    .map((container) => {
      const declared = containers.get(container.name);
      const usage = resource === 'memory' ? (container.memory?.workingSetBytes ?? 0) : containerDiskUsage(container);
      const request = declared?.resources?.requests?.[resource] ?? '0';
      if (declared === undefined || usage <= quantityValue(request)) return '';
      return `Container ${container.name} was using ${amount(usage)}, request is ${request}, has larger consumption of ${resource}. `;
    })
    .join('');
}

/** The message for a pod that requests memory as a whole; the reader compares usage and request. */
function wholePod({ metadata, spec }: Pod, stats: PodStats | undefined, resource: StarvedResource): string {
  const request = spec?.resources?.requests?.['memory'];
  if (resource !== 'memory' || request === undefined || stats?.memory === undefined) return '';
  const usage = amount(stats.memory.workingSetBytes ?? 0);
  return `Pod ${metadata.name ?? ''} was using ${usage}, request is ${request}, has larger consumption of ${resource}. `;
}

/** The message of a pod that is evicted because the node runs low. */
export function lowNodeMessage(
  { signal, value }: Threshold,
  observations: Observations,
  victim: { pod: Pod; stats: PodStats | undefined },
): string {
  const { resource } = SIGNALS[signal];
  const seen = observations.get(signal);
  const figures =
    seen === undefined
      ? ''
      : `Threshold quantity: ${amount(unitsOf(value, seen.capacity))}, available: ${amount(seen.available)}. `;
  const users = wholePod(victim.pod, victim.stats, resource) + consumersText(victim.pod, victim.stats, resource);
  return `The node was low on resource: ${resource}. ${figures}${users}`;
}

/** Why a new pod is rejected. */
export function nodeConditionMessage(conditions: readonly string[]): string {
  return `The node had condition: [${conditions.join(' ')}]. `;
}

/** Messages about limits of ephemeral storage. */
export const limitMessages = {
  emptyDir: (volume: string, limit: string) => `Usage of EmptyDir volume "${volume}" exceeds the limit "${limit}". `,
  pod: (limit: string) => `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `,
  container: (name: string, limit: string) =>
    `Container ${name} exceeded its local ephemeral storage limit "${limit}". `,
};
