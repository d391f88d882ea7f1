/** Autoscalers. Upstream: apis/autoscaling/validation. */
import type { Field } from '../field-error.ts';
import type { HorizontalPodAutoscaler, HPAScalingRules, MetricSpec, MetricTarget } from '../gen/autoscaling-v2.ts';
import { isPathSegmentName } from '../names.ts';
import { tryParseQuantity } from '../quantity.ts';
import { validateLabelSelector } from './common.ts';

const SOURCES = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
} as const;
const MAX_STABILIZATION_SECONDS = 3600;
const MAX_PERIOD_SECONDS = 1800;

function isPositive(quantity: string | undefined): boolean {
  return (tryParseQuantity(quantity)?.nanos ?? 0n) > 0n;
}

function validateTarget(target: MetricTarget, field: Field): void {
  if ((target.type ?? '') === '') field.at('type').required('must specify a metric target type');
  else if (!['AverageValue', 'Utilization', 'Value'].includes(target.type))
    field.at('type').invalid(target.type, 'must be either Utilization, Value, or AverageValue');
  if (target.value !== undefined && !isPositive(target.value))
    field.at('value').invalid(target.value, 'must be positive');
  if (target.averageValue !== undefined && !isPositive(target.averageValue))
    field.at('averageValue').invalid(target.averageValue, 'must be positive');
  if (target.averageUtilization !== undefined && target.averageUtilization < 1)
    field.at('averageUtilization').invalid(target.averageUtilization, 'must be greater than 0');
}

function validateResourceTarget(target: MetricTarget, field: Field): void {
  validateTarget(target, field);
  if (target.averageUtilization === undefined && target.averageValue === undefined) {
    field.at('averageUtilization').required('must set either a target raw value or a target utilization');
  } else if (target.averageUtilization !== undefined && target.averageValue !== undefined) {
    field.at('averageValue').forbidden('may not set both a target raw value and a target utilization');
  }
}

function validateMetric(metric: MetricSpec, field: Field): void {
  const source = SOURCES[metric.type as keyof typeof SOURCES];
  if ((metric.type ?? '') === '') return field.at('type').required('must specify a metric source type');
  if (source === undefined) return field.at('type').notSupported(metric.type, Object.keys(SOURCES));
  for (const other of Object.values(SOURCES)) {
    if (other !== source && metric[other] !== undefined)
      field.at(other).forbidden('must populate the given metric source only');
  }
  if (metric[source] === undefined)
    return field.at(source).required('must populate information for the given metric source');
  const place = field.at(source);
  if (metric.resource !== undefined && source === 'resource') {
    if ((metric.resource.name ?? '') === '') place.at('name').required('must specify a resource name');
    validateResourceTarget(metric.resource.target, place.at('target'));
  }
  if (metric.containerResource !== undefined && source === 'containerResource') {
    if ((metric.containerResource.name ?? '') === '') place.at('name').required('must specify a resource name');
    if ((metric.containerResource.container ?? '') === '') place.at('container').required('must specify a container');
    validateResourceTarget(metric.containerResource.target, place.at('target'));
  }
  if (source === 'resource' || source === 'containerResource') return;
  validateNamedMetric(metric, source, place);
}

function validateNamedMetric(metric: MetricSpec, source: 'external' | 'object' | 'pods', field: Field): void {
  const { metric: identifier, target } = metric[source]!;
  if ((identifier?.name ?? '') === '') field.at('metric').at('name').required('must specify a metric name');
  else field.at('metric').at('name').complain(identifier.name, isPathSegmentName(identifier.name));
  validateLabelSelector(identifier?.selector, field.at('metric').at('selector'));
  validateTarget(target, field.at('target'));
  if (source === 'pods') {
    if (!isPositive(target.averageValue))
      field.at('target').at('averageValue').required('must specify a positive target averageValue');
    return;
  }
  if (target.value === undefined && target.averageValue === undefined)
    field.at('target').at('averageValue').required('must set either a target value or averageValue');
  if (source === 'external' && target.value !== undefined && target.averageValue !== undefined)
    field.at('target').at('value').forbidden('may not set both a target value for metric and a per-pod target');
}

function validateRules(rules: HPAScalingRules | undefined, field: Field): void {
  if (rules === undefined) return;
  const { stabilizationWindowSeconds: window, selectPolicy, policies } = rules;
  if (window !== undefined && window < 0)
    field.at('stabilizationWindowSeconds').invalid(window, 'must be greater than or equal to zero');
  if (window !== undefined && window > MAX_STABILIZATION_SECONDS)
    field
      .at('stabilizationWindowSeconds')
      .invalid(window, `must be less than or equal to ${MAX_STABILIZATION_SECONDS}`);
  if (selectPolicy !== undefined && !['Disabled', 'Max', 'Min'].includes(selectPolicy))
    field.at('selectPolicy').notSupported(selectPolicy, ['Disabled', 'Max', 'Min']);
  if ((policies ?? []).length === 0) field.at('policies').required('must specify at least one Policy');
  for (const [index, policy] of (policies ?? []).entries()) {
    const place = field.at('policies').item(index);
    if (policy.type !== 'Pods' && policy.type !== 'Percent')
      place.at('type').notSupported(policy.type, ['Percent', 'Pods']);
    if (policy.value <= 0) place.at('value').invalid(policy.value, 'must be greater than zero');
    if (policy.periodSeconds <= 0) place.at('periodSeconds').invalid(policy.periodSeconds, 'must be greater than zero');
    if (policy.periodSeconds > MAX_PERIOD_SECONDS)
      place.at('periodSeconds').invalid(policy.periodSeconds, `must be less than or equal to ${MAX_PERIOD_SECONDS}`);
  }
}

/** An autoscaler. */
export function validateHorizontalPodAutoscaler(autoscaler: HorizontalPodAutoscaler, field: Field): void {
  const place = field.at('spec');
  const spec = autoscaler.spec;
  if (spec === undefined) return place.required();
  const minimum = spec.minReplicas;
  if (minimum !== undefined && minimum < 1)
    place.at('minReplicas').invalid(minimum, 'must be greater than or equal to 1');
  if ((spec.maxReplicas ?? 0) < 1) place.at('maxReplicas').invalid(spec.maxReplicas ?? 0, 'must be greater than 0');
  if (minimum !== undefined && spec.maxReplicas < minimum)
    place.at('maxReplicas').invalid(spec.maxReplicas, 'must be greater than or equal to `minReplicas`');
  const { kind = '', name = '' } = spec.scaleTargetRef ?? {};
  for (const [key, value] of [
    ['kind', kind],
    ['name', name],
  ] as const) {
    if (value === '') place.at('scaleTargetRef').at(key).required();
    else place.at('scaleTargetRef').at(key).complain(value, isPathSegmentName(value));
  }
  for (const [index, metric] of (spec.metrics ?? []).entries()) validateMetric(metric, place.at('metrics').item(index));
  validateRules(spec.behavior?.scaleUp, place.at('behavior').at('scaleUp'));
  validateRules(spec.behavior?.scaleDown, place.at('behavior').at('scaleDown'));
}
