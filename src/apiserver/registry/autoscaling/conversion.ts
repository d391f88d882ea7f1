/**
 * autoscaling/v1 ↔ v2: v1 knows the cpu metric alone; the rest travels in annotations, as upstream's. Upstream:
 * apis/autoscaling/v1/conversion.go.
 */
import type { HorizontalPodAutoscaler as V1 } from '../../../api/gen/autoscaling-v1.ts';
import type { HorizontalPodAutoscaler as V2, MetricSpec, MetricStatus } from '../../../api/gen/autoscaling-v2.ts';
import type { ObjectMeta } from '../../../api/gen/meta-v1.ts';

const PREFIX = 'autoscaling.alpha.kubernetes.io/';
const METRICS = `${PREFIX}metrics`;
const CURRENT_METRICS = `${PREFIX}current-metrics`;
const CONDITIONS = `${PREFIX}conditions`;
const BEHAVIOR = `${PREFIX}behavior`;

function isCpuUtilization(metric: MetricSpec): boolean {
  return (
    metric.type === 'Resource' &&
    metric.resource?.name === 'cpu' &&
    metric.resource.target.averageUtilization !== undefined
  );
}

function isCpuStatus(metric: MetricStatus): boolean {
  return (
    metric.type === 'Resource' &&
    metric.resource?.name === 'cpu' &&
    metric.resource.current.averageUtilization !== undefined
  );
}

function withAnnotations(metadata: ObjectMeta, values: Readonly<Record<string, unknown>>): ObjectMeta {
  const annotations = { ...metadata.annotations };
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) annotations[key] = JSON.stringify(value);
  }
  return Object.keys(annotations).length === 0 ? metadata : { ...metadata, annotations };
}

/** v2 → v1. */
export function autoscalerToV1(autoscaler: V2): V1 {
  const { metrics = [], behavior, ...spec } = autoscaler.spec;
  const cpu = metrics.find(isCpuUtilization);
  const metadata = withAnnotations(autoscaler.metadata, {
    [METRICS]: metrics.filter((metric) => metric !== cpu),
    [BEHAVIOR]: behavior,
    [CURRENT_METRICS]: (autoscaler.status?.currentMetrics ?? []).filter((metric) => !isCpuStatus(metric)),
    [CONDITIONS]: autoscaler.status?.conditions,
  });
  const target = cpu?.resource?.target.averageUtilization;
  const converted: V1 = {
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata,
    spec: { ...spec, ...(target === undefined ? {} : { targetCPUUtilizationPercentage: target }) },
  };
  if (autoscaler.status === undefined) return converted;
  const { currentMetrics = [], conditions: _conditions, currentReplicas = 0, ...status } = autoscaler.status;
  const current = currentMetrics.find(isCpuStatus)?.resource?.current.averageUtilization;
  converted.status = {
    ...status,
    currentReplicas,
    ...(current === undefined ? {} : { currentCPUUtilizationPercentage: current }),
  };
  return converted;
}

function readAnnotation(metadata: ObjectMeta, key: string): unknown {
  const text = metadata.annotations?.[key];
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    // Users may write anything into annotations; what does not parse carries nothing.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function listFrom<T>(metadata: ObjectMeta, key: string): T[] {
  const value = readAnnotation(metadata, key);
  return Array.isArray(value) ? (value as T[]) : [];
}

function withoutAnnotations(metadata: ObjectMeta): ObjectMeta {
  const kept = Object.entries(metadata.annotations ?? {}).filter(
    ([key]) => ![METRICS, CURRENT_METRICS, CONDITIONS, BEHAVIOR].includes(key),
  );
  const { annotations, ...rest } = metadata;
  if (annotations === undefined) return metadata;
  return kept.length === 0 ? rest : { ...rest, annotations: Object.fromEntries(kept) };
}

/** v1 → v2. */
export function autoscalerFromV1(autoscaler: V1): V2 {
  const { targetCPUUtilizationPercentage: target, ...spec } = autoscaler.spec;
  const { metadata } = autoscaler;
  const metrics = listFrom<MetricSpec>(metadata, METRICS);
  if (target !== undefined)
    metrics.unshift({
      type: 'Resource',
      resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: target } },
    });
  const behavior = readAnnotation(metadata, BEHAVIOR);
  const converted: V2 = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: withoutAnnotations(metadata),
    spec: {
      ...spec,
      ...(metrics.length === 0 ? {} : { metrics }),
      ...(typeof behavior === 'object' && behavior !== null ? { behavior } : {}),
    },
  };
  if (autoscaler.status === undefined) return converted;
  const { currentCPUUtilizationPercentage: current, ...status } = autoscaler.status;
  const currentMetrics = listFrom<MetricStatus>(metadata, CURRENT_METRICS);
  if (current !== undefined)
    currentMetrics.unshift({ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: current } } });
  const conditions = listFrom<NonNullable<NonNullable<V2['status']>['conditions']>[number]>(metadata, CONDITIONS);
  converted.status = {
    ...status,
    ...(currentMetrics.length === 0 ? {} : { currentMetrics }),
    ...(conditions.length === 0 ? {} : { conditions }),
  };
  return converted;
}
