/**
 * `/metrics/cadvisor`: containers, pods and the machine under cadvisor's names, which dashboards and alerts use.
 * Upstream: cadvisor/metrics/prometheus.go with the kubelet's label function.
 *
 * Differs: only values that the runtime and cgroups report; `id` is the container's id, not a cgroup path.
 */
import type { Pressures } from '../../platform/pressure.ts';
import { podUid } from '../types/pod-update.ts';
import { type CounterValue, counterValues, packetValues } from './cadvisor-counter-values.ts';
import type { NodeCounters } from './cadvisor-counters.ts';
import {
  containerValues,
  hasCpuLimit,
  type Labels,
  labelsOf,
  podValues,
  pressureValues,
  rootValues,
  specOf,
} from './cadvisor-values.ts';
import type { NodePressures } from './pressures.ts';
import { formatMetrics, type MetricFamily, type Sample } from './prometheus-text.ts';
import type { NodeSnapshot } from './snapshot.ts';
type Families = Map<string, MetricFamily & { samples: Sample[] }>;

/** Further input of these metrics beside the snapshot. */
export interface CadvisorReadings {
  readonly pressures?: NodePressures;
  readonly counters?: NodeCounters;
}

/** Renders a snapshot. */
export function cadvisorMetrics({ node, pods, nowMs }: NodeSnapshot, readings: CadvisorReadings = {}): string {
  const { pressures: waits, counters } = readings;
  const families: Families = new Map();
  const add = (
    family: Omit<MetricFamily, 'samples'>,
    sample: Omit<Sample, 'value'> & { readonly value: number | undefined },
  ): void => {
    const { value } = sample;
    if (value === undefined) return;
    let existing = families.get(family.name);
    if (existing === undefined) families.set(family.name, (existing = { ...family, samples: [] }));
    existing.samples.push({ ...sample, value });
  };
  const gauge = (name: string, help: string): Omit<MetricFamily, 'samples'> => ({ name, help, type: 'gauge' });
  const counter = (name: string, help: string): Omit<MetricFamily, 'samples'> => ({ name, help, type: 'counter' });
  add(gauge('machine_cpu_cores', 'Number of logical CPU cores.'), { labels: {}, value: node.cpuCount });
  add(gauge('machine_memory_bytes', 'Amount of memory installed on the machine.'), {
    labels: {},
    value: node.memoryBytes,
  });
  const addPressures = (labels: Labels, pressures: Pressures | undefined): void => {
    for (const [family, value] of pressureValues(pressures ?? {}, counter))
      add(family, { labels, value, timeMs: nowMs });
  };
  addPressures({ id: '/' }, waits?.node);
  for (const [family, labels, value] of rootValues(node, { gauge, counter }))
    add(family, { labels: { id: '/', ...labels }, value, timeMs: nowMs });
  const addCounters = (labels: Labels, values: readonly CounterValue[]): void => {
    for (const [family, more, value] of values) add(family, { labels: { ...labels, ...more }, value, timeMs: nowMs });
  };
  for (const reading of pods) {
    const own = waits?.pods.get(podUid(reading.pod));
    addPressures(labelsOf(reading), own?.own);
    const read = counters?.pods.get(podUid(reading.pod));
    const deviceNames = counters?.deviceNames ?? new Map<string, string>();
    if (read?.own !== undefined)
      addCounters(labelsOf(reading), counterValues(read.own, { hasQuota: hasCpuLimit(reading), deviceNames }));
    addCounters(labelsOf(reading), (read?.packets ?? []).flatMap(packetValues));
    for (const container of reading.usage.containers) {
      addPressures(labelsOf(reading, container), own?.containers.get(container.id));
      const ofContainer = read?.containers.get(container.id);
      const hasQuota = specOf(reading, container)?.resources?.limits?.['cpu'] !== undefined;
      if (ofContainer !== undefined)
        addCounters(labelsOf(reading, container), counterValues(ofContainer, { hasQuota, deviceNames }));
      for (const [family, value] of containerValues(reading, container, { gauge, counter })) {
        const cpu: Labels = family.name === 'container_cpu_usage_seconds_total' ? { cpu: 'total' } : {};
        add(family, { labels: { ...labelsOf(reading, container), ...cpu }, value, timeMs: container.timeMs || nowMs });
      }
    }
    for (const [family, labels, value] of podValues(reading, { gauge, counter }))
      add(family, { labels: { ...labelsOf(reading), ...labels }, value, timeMs: nowMs });
  }
  return formatMetrics([...families.values()]);
}
