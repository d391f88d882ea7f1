/** `/metrics/resource`: what metrics-server scrapes. Upstream: pkg/kubelet/metrics/collectors/resource_metrics.go. */
import { podName, podNamespace } from '../types/pod-update.ts';
import { formatMetrics, type MetricFamily, type Sample } from './prometheus-text.ts';
import type { NodeSnapshot } from './snapshot.ts';

type Labels = Readonly<Record<string, string>>;

const seconds = (ns: number | undefined): number | undefined => (ns === undefined ? undefined : ns / 1e9);

function nodeUsage({ node, nowMs }: NodeSnapshot): MetricFamily[] {
  const sample = (value: number | undefined): Sample[] =>
    value === undefined ? [] : [{ labels: {}, value, timeMs: nowMs }];
  return [
    {
      name: 'node_cpu_usage_seconds_total',
      help: '[STABLE] Cumulative cpu time consumed by the node in core-seconds',
      type: 'counter',
      samples: sample(seconds(node.cpuUsageNs)),
    },
    {
      name: 'node_memory_working_set_bytes',
      help: '[STABLE] Current working set of the node in bytes',
      type: 'gauge',
      samples: sample(node.memory.workingSetBytes),
    },
  ];
}

/** Formats a snapshot; undefined: it failed, which the error metric counts. */
export function resourceMetrics(snapshot: NodeSnapshot | undefined): string {
  const families: MetricFamily[] = [
    {
      name: 'resource_scrape_error',
      help: '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise',
      type: 'gauge',
      samples: [{ labels: {}, value: snapshot === undefined ? 1 : 0 }],
    },
  ];
  if (snapshot === undefined) return formatMetrics(families);
  const { nowMs, pods } = snapshot;
  const sample = (labels: Labels, value: number | undefined, timeMs = nowMs): Sample[] =>
    value === undefined ? [] : [{ labels, value, timeMs }];
  const ofContainers = (
    read: (
      container: (typeof pods)[number]['usage']['containers'][number],
      pod: (typeof pods)[number],
    ) => number | undefined,
    timed = true,
  ): Sample[] =>
    pods.flatMap((pod) =>
      pod.usage.containers.flatMap((container) => {
        const { name = '', namespace = '' } = pod.pod.metadata;
        const samples = sample(
          { container: container.name, namespace, pod: name },
          read(container, pod),
          container.timeMs || nowMs,
        );
        return timed ? samples : samples.map(({ labels, value }) => ({ labels, value }));
      }),
    );
  const ofPods = (read: (pod: (typeof pods)[number]) => number | undefined): Sample[] =>
    pods.flatMap((pod) => sample({ namespace: podNamespace(pod.pod), pod: podName(pod.pod) }, read(pod)));
  families.push(
    ...nodeUsage(snapshot),
    {
      name: 'container_cpu_usage_seconds_total',
      help: '[STABLE] Cumulative cpu time consumed by the container in core-seconds',
      type: 'counter',
      samples: ofContainers(({ cpuUsageNs }) => seconds(cpuUsageNs)),
    },
    {
      name: 'container_memory_working_set_bytes',
      help: '[STABLE] Current working set of the container in bytes',
      type: 'gauge',
      samples: ofContainers(({ workingSetBytes }) => workingSetBytes),
    },
    {
      name: 'container_swap_usage_bytes',
      help: '[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems',
      type: 'gauge',
      samples: ofContainers(({ swapBytes }) => swapBytes),
    },
    {
      name: 'container_start_time_seconds',
      help: '[STABLE] Start time of the container since unix epoch in seconds',
      type: 'gauge',
      samples: ofContainers(({ id }, pod) => {
        const ms = pod.startedAtMs.get(id);
        return ms === undefined || ms === 0 ? undefined : ms / 1000;
      }, false),
    },
    {
      name: 'pod_cpu_usage_seconds_total',
      help: '[STABLE] Cumulative cpu time consumed by the pod in core-seconds',
      type: 'counter',
      samples: ofPods(({ cgroup, usage }) =>
        seconds(cgroup?.cpuUsageNs ?? sum(usage.containers.map(({ cpuUsageNs }) => cpuUsageNs))),
      ),
    },
    {
      name: 'pod_memory_working_set_bytes',
      help: '[STABLE] Current working set of the pod in bytes',
      type: 'gauge',
      samples: ofPods(
        ({ cgroup, usage }) =>
          cgroup?.memoryWorkingSetBytes ?? sum(usage.containers.map(({ workingSetBytes }) => workingSetBytes)),
      ),
    },
  );
  return formatMetrics(families);
}

/** Undefined when no value is defined. */
function sum(values: readonly (number | undefined)[]): number | undefined {
  const numbers = values.filter((value) => value !== undefined);
  return numbers.length === 0 ? undefined : numbers.reduce((total, value) => total + value, 0);
}
