/**
 * autoscaling/v1 ↔ v2: v1 knows the cpu metric alone; the rest travels in annotations, as upstream's. Upstream:
 * apis/autoscaling/v1/conversion.go.
 */
import type * as v1 from '../../../api/gen/autoscaling-v1.ts';
import type * as v2 from '../../../api/gen/autoscaling-v2.ts';
import {
  BEHAVIOR,
  behaviorFrom,
  behaviorText,
  CONDITIONS,
  CURRENT_METRICS,
  listFrom,
  METRICS,
  withoutRoundTrip,
  withRoundTrip,
} from './round-trip.ts';
import { metricFromV1, metricToV1, statusFromV1, statusToV1 } from './v1-metrics.ts';

function isCpuUtilization({ type, resource }: v2.MetricSpec): boolean {
  return type === 'Resource' && resource?.name === 'cpu' && resource.target.averageUtilization !== undefined;
}

function isCpuStatus({ type, resource }: v2.MetricStatus): boolean {
  return type === 'Resource' && resource?.name === 'cpu' && resource.current.averageUtilization !== undefined;
}

function listText(list: readonly object[] | undefined): string | undefined {
  return list === undefined || list.length === 0 ? undefined : JSON.stringify(list);
}

type Condition = NonNullable<NonNullable<v2.HorizontalPodAutoscaler['status']>['conditions']>[number];

/** Go writes a time that is not set. */
function conditionToV1({ type, status, lastTransitionTime, reason, message }: Condition): object {
  return { type, status, lastTransitionTime: lastTransitionTime ?? null, reason, message };
}

/** v2 → v1. */
export function autoscalerToV1(autoscaler: v2.HorizontalPodAutoscaler): v1.HorizontalPodAutoscaler {
  const { metrics = [], behavior, ...spec } = autoscaler.spec;
  const { status } = autoscaler;
  const metadata = withRoundTrip(autoscaler.metadata, {
    [METRICS]: listText(metrics.filter((metric) => !isCpuUtilization(metric)).map(metricToV1)),
    [CURRENT_METRICS]: listText(status?.currentMetrics?.map(statusToV1)),
    [BEHAVIOR]: behavior && behaviorText(behavior),
    [CONDITIONS]: listText(status?.conditions?.map(conditionToV1)),
  });
  const target = metrics.find(isCpuUtilization)?.resource?.target.averageUtilization;
  const converted: v1.HorizontalPodAutoscaler = {
    apiVersion: 'autoscaling/v1',
    kind: 'HorizontalPodAutoscaler',
    metadata,
    spec,
  };
  if (target !== undefined) converted.spec = { ...spec, targetCPUUtilizationPercentage: target };
  if (status === undefined) return converted;
  const { currentMetrics = [], conditions: _conditions, currentReplicas = 0, ...rest } = status;
  const current = currentMetrics.findLast(isCpuStatus)?.resource?.current.averageUtilization;
  converted.status = { ...rest, currentReplicas };
  if (current !== undefined) converted.status.currentCPUUtilizationPercentage = current;
  return converted;
}

/** A copy without properties that are undefined, at any depth. */
function present<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

const DEFAULT_UTILIZATION = 80;

function cpuMetric(averageUtilization: number): v2.MetricSpec {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } };
}

/** The target that a v1 object has where nothing in it names a metric. */
export function setDefaultTarget(autoscaler: v1.HorizontalPodAutoscaler): void {
  const { metadata, spec } = autoscaler;
  if (spec === undefined || spec.targetCPUUtilizationPercentage !== undefined) return;
  const others = listFrom<v1.MetricSpec>(metadata, METRICS, 'autoscaling.v1.MetricSpec') ?? [];
  if (others.length === 0) spec.targetCPUUtilizationPercentage = DEFAULT_UTILIZATION;
}

/** The metrics of a v1 object: those of the annotation before that of the field, and never none. */
function metricsOf({ metadata, spec }: v1.HorizontalPodAutoscaler): v2.MetricSpec[] {
  const others = (listFrom<v1.MetricSpec>(metadata, METRICS, 'autoscaling.v1.MetricSpec') ?? []).map(metricFromV1);
  const target = spec?.targetCPUUtilizationPercentage;
  const metrics = [...others.map(present), ...(target === undefined ? [] : [cpuMetric(target)])];
  return metrics.length === 0 ? [cpuMetric(DEFAULT_UTILIZATION)] : metrics;
}

function statusOf({ metadata, status }: v1.HorizontalPodAutoscaler): v2.HorizontalPodAutoscaler['status'] {
  const listed = listFrom<v1.MetricStatus>(metadata, CURRENT_METRICS, 'autoscaling.v1.MetricStatus');
  const conditions = listFrom<Condition>(metadata, CONDITIONS, 'autoscaling.v1.HorizontalPodAutoscalerCondition');
  const {
    currentCPUUtilizationPercentage: current,
    currentReplicas = 0,
    ...rest
  } = status ?? { currentReplicas: 0, desiredReplicas: 0 };
  if (status === undefined && listed === undefined && conditions === undefined) return undefined;
  const cpu: v2.MetricStatus[] =
    current === undefined
      ? []
      : [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: current } } }];
  const currentMetrics = listed?.map(statusFromV1).map(present) ?? cpu;
  const converted: NonNullable<v2.HorizontalPodAutoscaler['status']> = { ...rest, currentMetrics };
  // v2 leaves a zero out.
  if (currentReplicas !== 0) converted.currentReplicas = currentReplicas;
  if (conditions !== undefined && conditions.length > 0) converted.conditions = [...conditions];
  return converted;
}

/** v1 → v2. */
export function autoscalerFromV1(autoscaler: v1.HorizontalPodAutoscaler): v2.HorizontalPodAutoscaler {
  const { targetCPUUtilizationPercentage: _target, ...spec } = autoscaler.spec;
  const behavior = behaviorFrom(autoscaler.metadata);
  const status = statusOf(autoscaler);
  const converted: v2.HorizontalPodAutoscaler = {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: withoutRoundTrip(autoscaler.metadata),
    spec: { ...spec, metrics: metricsOf(autoscaler) },
  };
  if (behavior !== undefined) converted.spec.behavior = behavior;
  if (status !== undefined) converted.status = status;
  return converted;
}
