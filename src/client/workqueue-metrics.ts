/** Metrics of work queues under upstream's names (component-base metrics/prometheus/workqueue). */
import type { Clock } from '../platform/clock.ts';
import type { Metrics } from '../platform/metrics.ts';

/** Called by the queue as keys move. */
export interface WorkqueueMetrics<K> {
  /** Called when a consumer is registered: a queue without a consumer has no work metrics. */
  opened(): void;
  added(key: K): void;
  depth(waiting: number): void;
  started(key: K, waiting: number): void;
  finished(key: K): void;
  retried(): void;
  /** The queue is shut down: gauges are removed, counters stay. */
  closed(): void;
}

const NONE: WorkqueueMetrics<never> = {
  opened: () => undefined,
  added: () => undefined,
  depth: () => undefined,
  started: () => undefined,
  finished: () => undefined,
  retried: () => undefined,
  closed: () => undefined,
};
const BUCKETS = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10];

/** Metrics of the queue `name`; does nothing without a registry. */
export function createWorkqueueMetrics<K>(
  name: string,
  clock: Clock,
  metrics: Metrics | undefined,
): WorkqueueMetrics<K> {
  if (metrics === undefined) return NONE as WorkqueueMetrics<K>;
  const labels = { name };
  const spec = (metric: string, help: string) => ({ name: `workqueue_${metric}`, help, labels: ['name'] });
  const depth = metrics.gauge(spec('depth', 'Keys that wait.'));
  const adds = metrics.counter(spec('adds_total', 'Keys added.'));
  const retries = metrics.counter(spec('retries_total', 'Keys added again after a failure.'));
  const latency = metrics.histogram({
    ...spec('queue_duration_seconds', 'Time a key waited for a worker.'),
    buckets: BUCKETS,
  });
  const work = metrics.histogram({
    ...spec('work_duration_seconds', 'Time a worker took for a key.'),
    buckets: BUCKETS,
  });
  const addedAtMs = new Map<K, number>();
  const startedAtMs = new Map<K, number>();
  let endUnfinished: (() => void) | undefined;
  const secondsSince = (times: Map<K, number>, key: K): number | undefined => {
    const atMs = times.get(key);
    times.delete(key);
    return atMs === undefined ? undefined : (clock.monotonicMs() - atMs) / 1000;
  };
  let isClosed = false;
  const recordDepth = (waiting: number): void => {
    if (!isClosed) depth.set(waiting, labels);
  };
  return {
    opened() {
      if (!isClosed) endUnfinished ??= exposeUnfinished(metrics, { clock, labels, startedAtMs });
    },
    added(key) {
      adds.inc(labels);
      if (!addedAtMs.has(key)) addedAtMs.set(key, clock.monotonicMs());
    },
    depth: recordDepth,
    started(key, waiting) {
      recordDepth(waiting);
      const waited = secondsSince(addedAtMs, key);
      if (waited !== undefined) latency.observe(waited, labels);
      startedAtMs.set(key, clock.monotonicMs());
    },
    finished(key) {
      const took = secondsSince(startedAtMs, key);
      if (took !== undefined) work.observe(took, labels);
    },
    retried: () => retries.inc(labels),
    closed() {
      if (isClosed) return;
      isClosed = true;
      endUnfinished?.();
      depth.remove(labels);
    },
  };
}

/**
 * The total duration of unfinished work, computed at each exposition: only this shows stuck workers. Returns a
 * function that ends it.
 */
function exposeUnfinished(
  metrics: Metrics,
  { clock, labels, startedAtMs }: { clock: Clock; labels: { name: string }; startedAtMs: ReadonlyMap<unknown, number> },
): () => void {
  const unfinished = metrics.gauge({
    name: 'workqueue_unfinished_work_seconds',
    help: 'Time spent so far on keys that are being worked on, added up: it grows without end where workers hang.',
    labels: ['name'],
  });
  const longest = metrics.gauge({
    name: 'workqueue_longest_running_processor_seconds',
    help: 'Time spent so far on the key that takes longest.',
    labels: ['name'],
  });
  const end = metrics.beforeExpose(() => {
    let [sum, most] = [0, 0];
    for (const startedMs of startedAtMs.values()) {
      const seconds = (clock.monotonicMs() - startedMs) / 1000;
      sum += seconds;
      most = Math.max(most, seconds);
    }
    unfinished.set(sum, labels);
    longest.set(most, labels);
  });
  return () => {
    end();
    unfinished.remove(labels);
    longest.remove(labels);
  };
}
