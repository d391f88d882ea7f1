/** Counters as samples under cadvisor's names. Upstream: cadvisor/metrics/prometheus.go. */
import type { CgroupCounters } from '../../platform/cgroups.ts';
import type { InterfacePackets } from './cadvisor-counters.ts';
import type { MetricFamily } from './prometheus-text.ts';

type Labels = Readonly<Record<string, string>>;

/** A metric family, further labels, and the value; undefined: not available. */
export type CounterValue = readonly [Omit<MetricFamily, 'samples'>, Labels, number | undefined];

const counter = (name: string, help: string): Omit<MetricFamily, 'samples'> => ({ name, help, type: 'counter' });
const gauge = (name: string, help: string): Omit<MetricFamily, 'samples'> => ({ name, help, type: 'gauge' });

const seconds = (ns: number | undefined): number | undefined => (ns === undefined ? undefined : ns / 1e9);

/** Samples of one cgroup. `hasQuota`: CFS counters are shown only for cgroups with a quota, as upstream. */
export function counterValues(
  counters: CgroupCounters,
  { hasQuota, deviceNames }: { readonly hasQuota: boolean; readonly deviceNames: ReadonlyMap<string, string> },
): readonly CounterValue[] {
  return [
    [
      counter('container_cpu_user_seconds_total', 'Cumulative user cpu time consumed in seconds.'),
      {},
      seconds(counters.cpuUserNs),
    ],
    [
      counter('container_cpu_system_seconds_total', 'Cumulative system cpu time consumed in seconds.'),
      {},
      seconds(counters.cpuSystemNs),
    ],
    ...(hasQuota ? quotaValues(counters) : []),
    ...memoryValues(counters),
    [
      counter('container_oom_events_total', 'Count of out of memory events observed for the container'),
      {},
      counters.oomKills,
    ],
    ...counters.devices.flatMap((device) => deviceValues(device, deviceNames)),
  ];
}

function quotaValues({ cfsPeriods, cfsThrottledPeriods, cfsThrottledNs }: CgroupCounters): readonly CounterValue[] {
  return [
    [counter('container_cpu_cfs_periods_total', 'Number of elapsed enforcement period intervals.'), {}, cfsPeriods],
    [
      counter('container_cpu_cfs_throttled_periods_total', 'Number of throttled period intervals.'),
      {},
      cfsThrottledPeriods,
    ],
    [
      counter('container_cpu_cfs_throttled_seconds_total', 'Total time duration the container has been throttled.'),
      {},
      seconds(cfsThrottledNs),
    ],
  ];
}

function memoryValues(counters: CgroupCounters): readonly CounterValue[] {
  return [
    [gauge('container_memory_cache', 'Number of bytes of page cache memory.'), {}, counters.memoryCacheBytes],
    [
      gauge('container_memory_mapped_file', 'Size of memory mapped files in bytes.'),
      {},
      counters.memoryMappedFileBytes,
    ],
    [
      gauge('container_memory_kernel_usage', 'Size of kernel memory allocated in bytes.'),
      {},
      counters.memoryKernelBytes,
    ],
    [
      gauge('container_memory_total_active_file_bytes', 'Current total active file in bytes.'),
      {},
      counters.memoryActiveFileBytes,
    ],
    [
      gauge('container_memory_total_inactive_file_bytes', 'Current total inactive file in bytes.'),
      {},
      counters.memoryInactiveFileBytes,
    ],
    [
      gauge('container_memory_max_usage_bytes', 'Maximum memory usage recorded in bytes'),
      {},
      counters.memoryMaxUsageBytes,
    ],
    [counter('container_memory_failcnt', 'Number of memory usage hits limits'), {}, counters.memoryFailures],
  ];
}

function deviceValues(
  { major, minor, readBytes, writeBytes, reads, writes }: CgroupCounters['devices'][number],
  names: ReadonlyMap<string, string>,
): readonly CounterValue[] {
  const device = names.get(`${major}:${minor}`) ?? '';
  const block = { device, major: String(major), minor: String(minor) };
  const usage = counter('container_blkio_device_usage_total', 'Blkio Device bytes usage');
  return [
    [counter('container_fs_reads_bytes_total', 'Cumulative count of bytes read'), { device }, readBytes],
    [counter('container_fs_writes_bytes_total', 'Cumulative count of bytes written'), { device }, writeBytes],
    [counter('container_fs_reads_total', 'Cumulative count of reads completed'), { device }, reads],
    [counter('container_fs_writes_total', 'Cumulative count of writes completed'), { device }, writes],
    [usage, { ...block, operation: 'Read' }, readBytes],
    [usage, { ...block, operation: 'Write' }, writeBytes],
  ];
}

/** Samples of one interface of a pod. */
export function packetValues(own: InterfacePackets): readonly CounterValue[] {
  const labels = { interface: own.name };
  return [
    [counter('container_network_receive_packets_total', 'Cumulative count of packets received'), labels, own.rxPackets],
    [
      counter('container_network_receive_packets_dropped_total', 'Cumulative count of packets dropped while receiving'),
      labels,
      own.rxDropped,
    ],
    [
      counter('container_network_transmit_packets_total', 'Cumulative count of packets transmitted'),
      labels,
      own.txPackets,
    ],
    [
      counter(
        'container_network_transmit_packets_dropped_total',
        'Cumulative count of packets dropped while transmitting',
      ),
      labels,
      own.txDropped,
    ],
  ];
}
