/** The values of cAdvisor's metrics for machine, pods and containers. Upstream: cadvisor metrics/prometheus.go. */
import type { Container } from '../../api/gen/core-v1.ts';
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import { PRESSURE_RESOURCES, type PressureLine, type Pressures } from '../../platform/pressure.ts';
import { milliCpuToQuota, milliCpuToShares } from '../runtime/linux-resources.ts';
import { podName, podNamespace } from '../types/pod-update.ts';
import type { CounterValue } from './cadvisor-counter-values.ts';
import type { MetricFamily } from './prometheus-text.ts';
import type { ContainerUsage } from './runtime-usage.ts';
import type { NodeSnapshot } from './snapshot.ts';
import type { InterfaceStats } from './summary-types.ts';

type PodReading = NodeSnapshot['pods'][number];

export type Labels = Readonly<Record<string, string>>;

const CPU_PERIOD_US = 100_000;

interface Kinds {
  gauge(name: string, help: string): Omit<MetricFamily, 'samples'>;
  counter(name: string, help: string): Omit<MetricFamily, 'samples'>;
}

const RESOURCE_NAMES = { cpu: 'CPU', memory: 'memory', io: 'IO' } as const;

export function pressureValues(
  pressures: Pressures,
  counter: Kinds['counter'],
): (readonly [Omit<MetricFamily, 'samples'>, number | undefined])[] {
  return PRESSURE_RESOURCES.flatMap((resource) => {
    const pressure = pressures[resource];
    const seconds = (line: PressureLine | undefined): number | undefined => line && line.total / 1e6;
    const cause = `due to ${RESOURCE_NAMES[resource]} congestion.`;
    const stalled = `Total time duration no tasks in the container could make progress ${cause}`;
    const waiting = `Total time duration tasks in the container have waited ${cause}`;
    return [
      [counter(`container_pressure_${resource}_stalled_seconds_total`, stalled), seconds(pressure?.full)] as const,
      [counter(`container_pressure_${resource}_waiting_seconds_total`, waiting), seconds(pressure?.some)] as const,
    ];
  });
}

/** The labels; for the pod itself container, id and image are empty. */
export function labelsOf({ pod, images }: PodReading, container?: ContainerUsage): Labels {
  return {
    container: container?.name ?? '',
    id: container?.id ?? `pod${pod.metadata.uid}`,
    image: container === undefined ? '' : (images.get(container.id) ?? ''),
    name: container?.id ?? '',
    namespace: podNamespace(pod),
    pod: podName(pod),
  };
}

export function containerValues(
  reading: PodReading,
  usage: ContainerUsage,
  { gauge, counter }: Kinds,
): (readonly [Omit<MetricFamily, 'samples'>, number | undefined])[] {
  const spec = specOf(reading, usage);
  const started = reading.startedAtMs.get(usage.id);
  return [
    [
      counter('container_cpu_usage_seconds_total', 'Cumulative cpu time consumed in seconds.'),
      usage.cpuUsageNs === undefined ? undefined : usage.cpuUsageNs / 1e9,
    ],
    [
      gauge(
        'container_memory_usage_bytes',
        'Current memory usage in bytes, including all memory regardless of when it was accessed',
      ),
      usage.usageBytes,
    ],
    [gauge('container_memory_working_set_bytes', 'Current working set in bytes.'), usage.workingSetBytes],
    [gauge('container_memory_rss', 'Size of RSS in bytes.'), usage.rssBytes],
    [gauge('container_memory_swap', 'Container swap usage in bytes.'), usage.swapBytes],
    [
      gauge('container_fs_usage_bytes', 'Number of bytes that are consumed by the container on this filesystem.'),
      usage.rootfsUsedBytes,
    ],
    [
      gauge('container_start_time_seconds', 'Start time of the container since unix epoch in seconds.'),
      started === undefined || started === 0 ? undefined : started / 1000,
    ],
    [gauge('container_last_seen', 'Last time a container was seen by the exporter'), Math.floor(usage.timeMs / 1000)],
    ...specValues(spec, gauge),
  ];
}

export function specOf({ pod }: PodReading, usage: ContainerUsage): Container | undefined {
  const all = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
  return all.find(({ name }) => name === usage.name);
}

/** Whether the pod's cgroup has a quota: every container has a CPU limit. */
export function hasCpuLimit({ pod }: PodReading): boolean {
  const limited = (container: Container): boolean => container.resources?.limits?.['cpu'] !== undefined;
  return (pod.spec?.containers ?? []).every(limited);
}

/** The metrics of the machine, cadvisor's root container. */
export function rootValues(node: NodeSnapshot['node'], { gauge, counter }: Kinds): readonly CounterValue[] {
  return [
    [
      counter('container_cpu_usage_seconds_total', 'Cumulative cpu time consumed in seconds.'),
      { cpu: 'total' },
      node.cpuUsageNs === undefined ? undefined : node.cpuUsageNs / 1e9,
    ],
    [
      gauge(
        'container_memory_usage_bytes',
        'Current memory usage in bytes, including all memory regardless of when it was accessed',
      ),
      {},
      node.memory.usageBytes,
    ],
    [gauge('container_memory_working_set_bytes', 'Current working set in bytes.'), {}, node.memory.workingSetBytes],
    ...node.interfaces.flatMap((own): CounterValue[] => networkValues(own, counter)),
  ];
}

function specValues(
  spec: Container | undefined,
  gauge: Kinds['gauge'],
): (readonly [Omit<MetricFamily, 'samples'>, number | undefined])[] {
  const { requests = {}, limits = {} } = spec?.resources ?? {};
  const cpuLimit = limits['cpu'];
  return [
    [
      gauge('container_spec_cpu_shares', 'CPU share of the container.'),
      milliCpuToShares(quantityMilliValue(requests['cpu'] ?? limits['cpu'] ?? '0')),
    ],
    [gauge('container_spec_cpu_period', 'CPU period of the container.'), CPU_PERIOD_US],
    [
      gauge('container_spec_cpu_quota', 'CPU quota of the container.'),
      cpuLimit === undefined ? undefined : milliCpuToQuota(quantityMilliValue(cpuLimit)),
    ],
    [
      gauge('container_spec_memory_limit_bytes', 'Memory limit for the container.'),
      limits['memory'] === undefined ? 0 : quantityValue(limits['memory']),
    ],
  ];
}

export function podValues(
  { cgroup, usage }: PodReading,
  { gauge, counter }: Kinds,
): (readonly [Omit<MetricFamily, 'samples'>, Labels, number | undefined])[] {
  const network = (usage.interfaces ?? []).flatMap((own) => networkValues(own, counter));
  return [
    [
      counter('container_cpu_usage_seconds_total', 'Cumulative cpu time consumed in seconds.'),
      { cpu: 'total' },
      cgroup === undefined ? undefined : cgroup.cpuUsageNs / 1e9,
    ],
    [
      gauge(
        'container_memory_usage_bytes',
        'Current memory usage in bytes, including all memory regardless of when it was accessed',
      ),
      {},
      cgroup?.memoryUsageBytes,
    ],
    [gauge('container_memory_working_set_bytes', 'Current working set in bytes.'), {}, cgroup?.memoryWorkingSetBytes],
    [gauge('container_memory_rss', 'Size of RSS in bytes.'), {}, cgroup?.memoryRssBytes],
    [
      gauge('container_processes', 'Number of processes running inside the container.'),
      {},
      usage.processes ?? cgroup?.pids,
    ],
    ...network,
  ];
}

function networkValues(own: InterfaceStats, counter: Kinds['counter']): CounterValue[] {
  const labels = { interface: own.name };
  return [
    [counter('container_network_receive_bytes_total', 'Cumulative count of bytes received'), labels, own.rxBytes],
    [
      counter('container_network_receive_errors_total', 'Cumulative count of errors encountered while receiving'),
      labels,
      own.rxErrors,
    ],
    [counter('container_network_transmit_bytes_total', 'Cumulative count of bytes transmitted'), labels, own.txBytes],
    [
      counter('container_network_transmit_errors_total', 'Cumulative count of errors encountered while transmitting'),
      labels,
      own.txErrors,
    ],
  ];
}
