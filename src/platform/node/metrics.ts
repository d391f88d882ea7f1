/** The real metrics registry, on prom-client, with the process's own metrics read only at an exposition. */
import { readdirSync, readFileSync } from 'node:fs';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { Metrics, MetricSpec } from '../metrics.ts';

/** Makes an empty registry that knows this process. */
export function createNodeMetrics(): Metrics {
  const registry = new Registry();
  addProcessMetrics(registry);
  const refreshes = new Set<() => void>();
  const existing = <T>(spec: MetricSpec, kind: abstract new (...args: never[]) => T): T | undefined => {
    const metric: unknown = registry.getSingleMetric(spec.name);
    if (metric !== undefined && !(metric instanceof kind)) throw new Error(`metric ${spec.name} is of another type`);
    return metric;
  };
  return {
    counter(spec) {
      const counter = existing(spec, Counter<string>) ?? new Counter<string>(configOf(spec, registry));
      return { inc: (labels = {}, by = 1) => counter.inc(labels, by), remove: (labels) => counter.remove(labels) };
    },
    gauge(spec) {
      const gauge = existing(spec, Gauge<string>) ?? new Gauge<string>(configOf(spec, registry));
      return { set: (value, labels = {}) => gauge.set(labels, value), remove: (labels) => gauge.remove(labels) };
    },
    histogram(spec) {
      const buckets = spec.buckets === undefined ? {} : { buckets: [...spec.buckets] };
      const histogram =
        existing(spec, Histogram<string>) ?? new Histogram<string>({ ...configOf(spec, registry), ...buckets });
      return { observe: (value, labels = {}) => histogram.observe(labels, value) };
    },
    beforeExpose(refresh) {
      refreshes.add(refresh);
      return () => refreshes.delete(refresh);
    },
    expose() {
      for (const refresh of refreshes) refresh();
      return registry.metrics();
    },
  };
}

function configOf(
  spec: MetricSpec,
  registry: Registry,
): { name: string; help: string; labelNames: string[]; registers: Registry[] } {
  return { name: spec.name, help: spec.help, labelNames: [...(spec.labels ?? [])], registers: [registry] };
}

function addProcessMetrics(registry: Registry): void {
  const add = (name: string, help: string, read: () => number): void => {
    const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect: () => gauge.set(read()) });
  };
  add('process_resident_memory_bytes', 'Resident memory size in bytes.', () => process.memoryUsage.rss());
  const cpu: Counter = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds.',
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      cpu.reset();
      cpu.inc((user + system) / 1e6);
    },
  });
  add('process_open_fds', 'Number of open file descriptors.', () => readdirSync('/proc/self/fd').length);
  add('process_virtual_memory_bytes', 'Virtual memory size in bytes.', () => statusKib('VmSize') * 1024);
  add('process_start_time_seconds', 'Start time of the process since unix epoch in seconds.', () => {
    return performance.timeOrigin / 1000;
  });
  add('nodejs_heap_size_used_bytes', 'Process heap size used in bytes.', () => process.memoryUsage().heapUsed);
}

/** A size in the kernel's own view of the process. */
function statusKib(field: string): number {
  const match = new RegExp(`^${field}:\\s*(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8'));
  return match === null ? Number.NaN : Number(match[1]);
}
