/**
 * Computes the replicas that each metric of an autoscaler proposes. Upstream: podautoscaler horizontal.go computeReplicasForMetrics and its
 * computeStatusFor functions.
 */
import { compileLabelSelector } from '../../api/label-selector.ts';
import { quantityFromMilliValue, quantityMilliValue } from '../../api/quantity.ts';
import type { MetricSpec, MetricStatus, MetricTarget, MetricValueStatus } from '../../api/gen/autoscaling-v2.ts';
import { errorMessage } from '../../base/errors.ts';
import type { MetricsClient } from './metrics-client.ts';
import {
  averageValueReplicas,
  perReplicaValueReplicas,
  utilizationReplicas,
  valueReplicas,
  type Proposal,
  type TargetState,
} from './replica-calculator.ts';

/** The scale target, and the client for its metrics. */
export interface EvaluationState extends TargetState {
  readonly namespace: string;
  /** The target's pods, as a query parameter. */
  readonly podSelector: string;
  readonly statusReplicas: number;
  readonly metrics: MetricsClient;
  /** The resource of a kind as the metrics API names it; rejects when the kind is not served. */
  groupResourceOf(apiVersion: string, kind: string): Promise<string>;
  readonly signal: AbortSignal;
}

/** The result of one metric. */
export interface Evaluation {
  readonly replicas: number;
  /** The metric's name in conditions and events. */
  readonly name: string;
  readonly status: MetricStatus;
}

type MetricFailure =
  | 'FailedGetContainerResourceMetric'
  | 'FailedGetExternalMetric'
  | 'FailedGetObjectMetric'
  | 'FailedGetPodsMetric'
  | 'FailedGetResourceMetric'
  | 'InvalidMetricSourceType';

/** A metric could not be evaluated. `reason` is that of the condition and of the event. */
export class MetricError extends Error {
  readonly reason: MetricFailure;
  constructor(reason: MetricFailure, message: string, cause: unknown) {
    super(`${message}: ${errorMessage(cause)}`, { cause });
    this.name = 'MetricError';
    this.reason = reason;
  }
}

const REASONS: Readonly<Record<string, readonly [reason: MetricFailure, what: string]>> = {
  Resource: ['FailedGetResourceMetric', 'resource metric value'],
  ContainerResource: ['FailedGetContainerResourceMetric', 'container resource metric value'],
  Pods: ['FailedGetPodsMetric', 'pods metric value'],
  Object: ['FailedGetObjectMetric', 'object metric value'],
  External: ['FailedGetExternalMetric', 'external metric value'],
};

/** Evaluates one metric. Rejects with `MetricError` only. */
export async function evaluateMetric(state: EvaluationState, spec: MetricSpec): Promise<Evaluation> {
  const [reason, what] = (Object.hasOwn(REASONS, spec.type) ? REASONS[spec.type] : undefined) ?? [
    'InvalidMetricSourceType',
    'metric value',
  ];
  try {
    if (spec.resource !== undefined) return await evaluateResource(state, spec, spec.resource);
    if (spec.containerResource !== undefined) return await evaluateResource(state, spec, spec.containerResource);
    if (spec.pods !== undefined) return await evaluatePods(state, spec.pods);
    if (spec.object !== undefined) return await evaluateObject(state, spec.object);
    if (spec.external !== undefined) return await evaluateExternal(state, spec.external);
  } catch (error) {
    throw new MetricError(reason, `failed to get ${what}`, error);
  }
  throw new MetricError(
    reason,
    'invalid metric source',
    new Error(`unknown metric source type ${JSON.stringify(spec.type)}`),
  );
}

async function evaluateResource(
  state: EvaluationState,
  { type }: MetricSpec,
  source: { readonly name: string; readonly container?: string; readonly target: MetricTarget },
): Promise<Evaluation> {
  const { name: resource, container, target } = source;
  const { namespace, podSelector, signal } = state;
  const query = { namespace, name: resource, podSelector, signal, ...(container === undefined ? {} : { container }) };
  const metrics = await state.metrics.resource(query);
  const { averageUtilization: utilization } = target;
  const proposal =
    utilization !== undefined
      ? utilizationReplicas(state, metrics, { resource, container, utilization })
      : averageValueReplicas(state, metrics, { resource, milliValue: milliOf(target.averageValue) });
  const current = averageOf(proposal);
  const status: MetricStatus =
    container === undefined
      ? { type, resource: { name: resource, current } }
      : { type, containerResource: { name: resource, container, current } };
  const name =
    utilization !== undefined ? `${resource} resource utilization (percentage of request)` : `${resource} resource`;
  return { replicas: proposal.replicas, name, status };
}

async function evaluatePods(
  state: EvaluationState,
  { metric, target }: NonNullable<MetricSpec['pods']>,
): Promise<Evaluation> {
  const metrics = await state.metrics.pods({
    namespace: state.namespace,
    name: metric.name,
    metricSelector: metric.selector,
    podSelector: state.podSelector,
    signal: state.signal,
  });
  const proposal = averageValueReplicas(state, metrics, { resource: '', milliValue: milliOf(target.averageValue) });
  return {
    replicas: proposal.replicas,
    name: `pods metric ${metric.name}`,
    status: { type: 'Pods', pods: { metric, current: averageOf(proposal) } },
  };
}

async function evaluateObject(
  state: EvaluationState,
  { metric, target, describedObject }: NonNullable<MetricSpec['object']>,
): Promise<Evaluation> {
  const { apiVersion = 'v1', kind, name } = describedObject;
  const value = await state.metrics.object({
    namespace: state.namespace,
    name: metric.name,
    metricSelector: metric.selector,
    object: { groupResource: await state.groupResourceOf(apiVersion, kind), name },
    signal: state.signal,
  });
  const { replicas, current } = ofWholeTarget(state, value, target);
  return {
    replicas,
    name: `${kind} metric ${metric.name}`,
    status: { type: 'Object', object: { metric, describedObject, current } },
  };
}

async function evaluateExternal(
  state: EvaluationState,
  { metric, target }: NonNullable<MetricSpec['external']>,
): Promise<Evaluation> {
  const values = await state.metrics.external({
    namespace: state.namespace,
    name: metric.name,
    metricSelector: metric.selector,
    signal: state.signal,
  });
  const value = values.reduce((sum, each) => sum + each, 0);
  const { replicas, current } = ofWholeTarget(state, value, target);
  const selected = metric.selector === undefined ? 'nil' : compileLabelSelector(metric.selector).toString();
  return {
    replicas,
    name: `external metric ${metric.name}(${selected})`,
    status: { type: 'External', external: { metric, current } },
  };
}

function ofWholeTarget(
  state: EvaluationState,
  value: number,
  target: MetricTarget,
): { replicas: number; current: MetricValueStatus } {
  if (target.averageValue !== undefined) {
    const proposal = perReplicaValueReplicas(state, value, milliOf(target.averageValue));
    return { replicas: proposal.replicas, current: averageOf(proposal) };
  }
  const replicas = valueReplicas(state, value, milliOf(target.value));
  return { replicas, current: { value: quantityFromMilliValue(value) } };
}

function averageOf({ averageMilliValue, utilization }: Proposal): MetricValueStatus {
  return {
    averageValue: quantityFromMilliValue(averageMilliValue),
    ...(utilization === undefined ? {} : { averageUtilization: utilization }),
  };
}

function milliOf(target: string | undefined): number {
  if (target === undefined)
    throw new Error('neither a utilization target nor a value for resource metric source was set');
  return quantityMilliValue(target);
}
