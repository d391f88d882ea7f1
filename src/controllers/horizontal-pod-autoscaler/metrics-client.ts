/**
 * Client of the three metrics APIs that an autoscaler uses. Upstream: podautoscaler/metrics client.go. All values are
 * in thousandths, as in upstream's arithmetic.
 */
import { compileLabelSelector } from '../../api/label-selector.ts';
import { parseDurationMs } from '../../api/duration.ts';
import { quantityMilliValue } from '../../api/quantity.ts';
import { parseTime } from '../../api/time.ts';
import type { LabelSelector } from '../../api/gen/meta-v1.ts';
import { jsonSteps } from '../../api/codec/json-steps.ts';
import { stepByStep } from '../../base/steps.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Client } from '../../client/client.ts';

export interface PodMetric {
  readonly milliValue: number;
  readonly timestampMs: number;
  readonly windowMs: number;
}

/** Pod name → metric. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** A namespaced object with a metric, by its resource (`services`, `ingresses.networking.k8s.io`). */
export interface DescribedObject {
  readonly groupResource: string;
  readonly name: string;
}

/** The metric and its namespace. */
export interface MetricQuery {
  readonly namespace: string;
  readonly name: string;
  /** Selects series of the metric. */
  readonly metricSelector?: LabelSelector | undefined;
  readonly signal: AbortSignal;
}

/** Every call rejects when the API is not served or has no values. */
export interface MetricsClient {
  /** metrics.k8s.io: the usage of `cpu` or `memory` by pods, or by one container of each. */
  resource(query: MetricQuery & { readonly podSelector: string; readonly container?: string }): Promise<PodMetrics>;
  /** custom.metrics.k8s.io: a metric of each pod. */
  pods(query: MetricQuery & { readonly podSelector: string }): Promise<PodMetrics>;
  /** custom.metrics.k8s.io: a metric of one object. */
  object(query: MetricQuery & { readonly object: DescribedObject }): Promise<number>;
  /** external.metrics.k8s.io: the values of all series. */
  external(query: MetricQuery): Promise<readonly number[]>;
}

const DEFAULT_WINDOW_MS = 60_000;
/** The most JSON values in a list that is read: ten thousand pods have fewer. */
const MAX_PARTS = 500_000;

interface PodMetricsItem {
  readonly metadata: { readonly name: string };
  readonly timestamp?: string;
  readonly window?: string;
  readonly containers?: readonly { readonly name: string; readonly usage: Readonly<Record<string, string>> }[];
}

interface MetricValue {
  readonly describedObject?: { readonly name?: string };
  readonly timestamp?: string;
  readonly windowSeconds?: number;
  readonly value: string;
}

/** Reads metrics with a client. */
export function createMetricsClient(client: Client, clock: Clock): MetricsClient {
  async function items<T>(
    path: string,
    parameters: Record<string, string>,
    signal: AbortSignal,
  ): Promise<readonly T[]> {
    const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== '')).toString();
    const { body } = await client.raw({ method: 'GET', path: query === '' ? path : `${path}?${query}`, signal });
    const text = Buffer.from(body).toString('utf8');
    const list = await stepByStep(jsonSteps(text, { maxParts: MAX_PARTS }), () => clock.yield());
    return (list as { items?: T[] }).items ?? [];
  }
  const customPath = ({ namespace, name }: MetricQuery, target: string): string =>
    target === ''
      ? `/apis/custom.metrics.k8s.io/v1beta2/namespaces/${namespace}/metrics/${encodeURIComponent(name)}`
      : `/apis/custom.metrics.k8s.io/v1beta2/namespaces/${namespace}/${target}/${encodeURIComponent(name)}`;
  return {
    async resource({ namespace, name, podSelector, container, signal }) {
      const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${namespace}/pods`;
      const podMetricsItems = await items<PodMetricsItem>(path, { labelSelector: podSelector }, signal);
      if (podMetricsItems.length === 0) throw new Error('no metrics returned from resource metrics API');
      return resourceMetrics(podMetricsItems, name, container);
    },
    async pods(query) {
      const parameters = { labelSelector: query.podSelector, metricLabelSelector: selectorText(query.metricSelector) };
      const metricValues = await items<MetricValue>(customPath(query, 'pods/*'), parameters, query.signal);
      if (metricValues.length === 0) throw new Error('no metrics returned from custom metrics API');
      return new Map(metricValues.map((value) => [value.describedObject?.name ?? '', podMetric(value)]));
    },
    async object({ object, ...query }) {
      const target = object.groupResource === 'namespaces' ? '' : `${object.groupResource}/${object.name}`;
      const parameters = { metricLabelSelector: selectorText(query.metricSelector) };
      const [value] = await items<MetricValue>(customPath(query, target), parameters, query.signal);
      if (value === undefined) throw new Error('no metrics returned from custom metrics API');
      return quantityMilliValue(value.value);
    },
    async external({ namespace, name, metricSelector, signal }) {
      const path = `/apis/external.metrics.k8s.io/v1beta1/namespaces/${namespace}/${encodeURIComponent(name)}`;
      const metricValues = await items<MetricValue>(path, { labelSelector: selectorText(metricSelector) }, signal);
      if (metricValues.length === 0) throw new Error('no metrics returned from external metrics API');
      return metricValues.map(({ value }) => quantityMilliValue(value));
    },
  };
}

function resourceMetrics(items: readonly PodMetricsItem[], resource: string, container?: string): PodMetrics {
  const metrics = new Map<string, PodMetric>();
  for (const item of items) {
    const wanted = (item.containers ?? []).filter(({ name }) => container === undefined || name === container);
    if (container !== undefined && wanted.length === 0)
      throw new Error(`container ${container} not present in metrics for pod ${item.metadata.name}`);
    const usages = wanted.map(({ usage }) => usage[resource]);
    // A pod whose usage is incomplete counts as one without a metric: a partial sum would scale down.
    if (usages.length === 0 || usages.includes(undefined)) continue;
    metrics.set(item.metadata.name, {
      milliValue: usages.reduce((sum, usage) => sum + quantityMilliValue(usage ?? '0'), 0),
      timestampMs: parseTime(item.timestamp ?? ''),
      windowMs: (item.window === undefined ? undefined : parseDurationMs(item.window)) ?? DEFAULT_WINDOW_MS,
    });
  }
  return metrics;
}

function podMetric({ value, timestamp = '', windowSeconds }: MetricValue): PodMetric {
  return {
    milliValue: quantityMilliValue(value),
    timestampMs: parseTime(timestamp),
    windowMs: windowSeconds === undefined ? DEFAULT_WINDOW_MS : windowSeconds * 1000,
  };
}

/** A selector in the form of a query parameter; '' selects everything. */
function selectorText(selector: LabelSelector | undefined): string {
  return selector === undefined ? '' : compileLabelSelector(selector).toString();
}
